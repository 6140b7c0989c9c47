"""Patterns of the tools that agents use."""
