"""The check of a command: its newest run that counts passed, and no file that it reads changed since."""

from __future__ import annotations

from flowrail.command import Command
from flowrail.evidence.context import Context, Found
from flowrail.machines.demanded_evidence import Evidence, Verdict


def check_command(check: Evidence, context: Context) -> Found:
    """Check the newest run of the command that is named."""
    name = str(check.command)
    run, changed = context.run_of(name)
    to_run = f"run: {Command('run', name, session=context.session, store=context.store)}"
    if run is None:
        return Found(Verdict.MISSING, "it did not run", to_run)
    if not run.ended_at:
        return Found(Verdict.MISSING, "it is running", f"wait for it; {to_run}")
    if run.verdict == Verdict.UNKNOWN:
        return Found(Verdict.UNKNOWN, run.result, to_run)
    if not run.passed:
        return Found(Verdict.FAIL, run.result, f"fix the cause; {to_run}")
    if run.changed:
        return Found(Verdict.STALE, f"{run.changed} changed while it ran", to_run)
    if changed:
        return Found(Verdict.STALE, f"{changed} changed since it passed", to_run)
    return Found(Verdict.PASS, run.result)
