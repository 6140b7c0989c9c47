"""`flow hook session-start`."""

from flowrail.cli.commands.hook.event import event

command = event(
    "session-start",
    """List the open sessions for the agent

    Runs when a conversation starts or resumes, and after its context was compacted or cleared. Prints
    each session's step, its conversation, and the command that shows the step again.
    """,
)
