"""`flow handoff`."""

from __future__ import annotations

from flowrail.cli.lazy_group import Entry, LazyGroup

_HERE = "flowrail.cli.commands.handoff"
_SEND, _RECEIVE, _LOOK = "Hand over", "Take over", "Payloads"

HELP = """Hand work from one skill to another

A payload is made from what a session reported, checked, written once and received by one: the
lifecycle is kept in .flow/handoffs, and `flow audit` tells of it afterwards.
"""

command = LazyGroup(
    name="handoff",
    help=HELP,
    table={
        "targets": Entry(f"{_HERE}.targets", _SEND, "Show who can take over, best first"),
        "send": Entry(f"{_HERE}.send", _SEND, "Hand a session's work to a skill"),
        "status": Entry(f"{_HERE}.status", _SEND, "Tell where handoffs stand"),
        "retry": Entry(f"{_HERE}.retry", _SEND, "Try a handoff again that failed or was interrupted"),
        "cancel": Entry(f"{_HERE}.cancel", _SEND, "Call a handoff off"),
        "receive": Entry(f"{_HERE}.receive", _RECEIVE, "Check a payload, claim it and take over the work"),
        "validate": Entry(f"{_HERE}.validate", _LOOK, "Name everything that is wrong with a payload"),
        "convert": Entry(f"{_HERE}.convert", _LOOK, "Turn a payload into one of another version"),
        "diagram": Entry(f"{_HERE}.diagram", _LOOK, "Draw the lifecycle of a handoff"),
    },
)
