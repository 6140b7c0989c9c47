"""Answer the hooks of an agent's host."""
