"""`flow doctor`: examine the set-up."""

from __future__ import annotations

from flowrail.cli import options
from flowrail.cli.options import Call
from flowrail.formatters.reports.doctor import report
from flowrail.operations.doctor import diagnose


@Call.command("doctor", "flow doctor")
@options.as_json
@options.root
@options.store
def doctor_command(call: Call) -> int:
    """Examine the whole set-up and say what to fix

    Locations and files of skills, collisions, dialects, workflows, hosts and their hooks, sessions,
    approvals, versions. Nothing runs and nothing is written. Exits 1 if there is an error.
    """
    examined = diagnose(call.environment)
    call.answer(examined, report(examined))
    return 0 if examined["ok"] else 1
