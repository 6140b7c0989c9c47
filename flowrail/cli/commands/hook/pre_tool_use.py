"""`flow hook pre-tool-use`."""

from flowrail.cli.commands.hook.event import event

command = event(
    "pre-tool-use",
    """Deny a tool that the current step forbids

    Applies the rules in the step's `forbids`, such as Edit or Bash(git push*). Never denies `flow`
    commands.
    """,
)
