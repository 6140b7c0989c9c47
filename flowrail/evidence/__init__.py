"""Check the evidence that a step demands: files, JSON, git, records, and commands."""
