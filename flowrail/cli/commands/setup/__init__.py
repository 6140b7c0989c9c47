"""Commands that set up and examine an installation."""
