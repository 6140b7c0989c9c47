"""Examine an installation, its skills, hooks and sessions."""
