"""Send, receive, cancel and check handoffs, and show their state."""
