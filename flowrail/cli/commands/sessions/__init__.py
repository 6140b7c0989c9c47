"""Commands that list, repair and remove sessions."""
