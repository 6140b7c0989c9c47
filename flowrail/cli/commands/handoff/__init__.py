"""`flow handoff`."""

from __future__ import annotations

from flowrail.cli.lazy_group import Entry, LazyGroup

_PACKAGE = "flowrail.cli.commands.handoff"
_SEND, _RECEIVE, _PAYLOADS = "Hand off", "Take over", "Payloads"

HELP = """Hand work from one skill to another

A payload is built from what a session reported, checked, written once and received once. The
lifecycle is recorded in .flow/handoffs; `flow audit` shows it.
"""

command = LazyGroup(
    name="handoff",
    help=HELP,
    table={
        "targets": Entry(f"{_PACKAGE}.targets", _SEND, "List the skills that can take over, best first"),
        "send": Entry(f"{_PACKAGE}.send", _SEND, "Hand a session's work to a skill"),
        "status": Entry(f"{_PACKAGE}.status", _SEND, "Show the phase of one handoff, or of all open ones"),
        "retry": Entry(f"{_PACKAGE}.retry", _SEND, "Retry a handoff that failed or was interrupted"),
        "cancel": Entry(f"{_PACKAGE}.cancel", _SEND, "Cancel a handoff"),
        "receive": Entry(
            f"{_PACKAGE}.receive", _RECEIVE, "Validate a payload, claim it and take over the work"
        ),
        "validate": Entry(f"{_PACKAGE}.validate", _PAYLOADS, "List every problem of a payload"),
        "convert": Entry(f"{_PACKAGE}.convert", _PAYLOADS, "Convert a payload to another version"),
        "diagram": Entry(f"{_PACKAGE}.diagram", _PAYLOADS, "Draw the lifecycle of a handoff"),
    },
)
