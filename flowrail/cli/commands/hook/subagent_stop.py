"""`flow hook subagent-stop`."""

from flowrail.cli.commands.hook.event import event

command = event(
    "subagent-stop",
    """Keep a sub-agent working until its session ends

    Its session is the one bound to it, the one that its transcript mentions, or the only open one.
    """,
)
