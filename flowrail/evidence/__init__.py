"""Check the evidence that a step demands, and run the commands that it declares."""
