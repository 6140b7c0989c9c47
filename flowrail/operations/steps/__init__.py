"""Start, show and advance sessions."""
