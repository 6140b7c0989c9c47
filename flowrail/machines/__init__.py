"""Workflows, what they compile to, and how one runs."""
