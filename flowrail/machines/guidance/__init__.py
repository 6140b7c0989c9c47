"""What an agent reads at a step: instructions, next commands, progress."""
