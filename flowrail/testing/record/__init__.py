"""Turn a session into a test, and replay it."""
