"""Read the skill folders in the known locations."""
