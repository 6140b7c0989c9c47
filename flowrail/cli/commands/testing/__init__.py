"""Commands that test a workflow."""
