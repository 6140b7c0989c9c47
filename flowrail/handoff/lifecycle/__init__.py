"""The statechart of a handoff, and the guards that it asks."""
