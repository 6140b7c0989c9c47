"""List, verify, rewind, migrate and delete sessions."""
