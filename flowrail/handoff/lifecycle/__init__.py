"""The machine that a handoff moves through, and its guards."""
