"""`flow hook stop`."""

from flowrail.cli.commands.hook.event import event

command = event(
    "stop",
    """Keep an agent working until its session ends

    Only if a session of the agent's conversation is active. Never while a question waits for the user or
    sub-agents are working, and at most three times before the session moves. Each time is recorded.
    """,
)
