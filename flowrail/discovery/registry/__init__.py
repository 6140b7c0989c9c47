"""The optional registry file: read, check, list and synchronise it."""
