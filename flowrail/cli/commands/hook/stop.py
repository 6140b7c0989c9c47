"""`flow hook stop`."""

from flowrail.cli.commands.hook.event import event

command = event(
    "stop",
    """Keep an agent at a procedure that is not finished

    Only while a session of its own conversation is active: never while a question waits for the user or
    agents are at work, and at most three times before the session moves. Each time is put on record.
    """,
)
