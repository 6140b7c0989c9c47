"""The flow command."""
