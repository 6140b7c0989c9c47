"""Commands that start, show and advance a session."""
