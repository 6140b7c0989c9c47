"""`flow hook subagent-stop`."""

from flowrail.cli.commands.hook.event import event

command = event(
    "subagent-stop",
    """The same for an agent that works for another

    Its session is the one bound to it, the one that its transcript speaks of, or the only one there is.
    """,
)
