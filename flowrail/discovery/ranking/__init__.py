"""Score candidates, sort them, and explain each score."""
