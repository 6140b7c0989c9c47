"""Compile a workflow to a state machine, and move a session through it."""
