"""`flow hook session-start`."""

from flowrail.cli.commands.hook.event import event

command = event(
    "session-start",
    """Tell which sessions are open here

    Also after the context was compacted or cleared, and where a conversation goes on: where each session
    stands, whose it is, and the command that shows its step again.
    """,
)
