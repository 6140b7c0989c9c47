"""Run every walk through a workflow and check what is printed."""
