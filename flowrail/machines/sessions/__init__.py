"""Session, everything in it, and how it is stored."""
