"""`flow evidence`: the checks of a step."""

from __future__ import annotations

from collections.abc import Sequence

import click

from flowrail.cli import options, output
from flowrail.cli.environment import SessionCall
from flowrail.command import Command, Hint
from flowrail.formatters.reports import evidence as evidence_report
from flowrail.machines.definition.evidence import EvidenceResult, Verdict
from flowrail.operations.running import evidence_records
from flowrail.text.safe_text import one_line

_check = click.argument("check")
_reason = click.option("--reason", required=True, metavar="TEXT", help="The reason, for the journal.")


@SessionCall.command("show", "flow evidence show planner-k3x9q2")
@options.optional_session
@options.as_json
@options.store
def show_command(call: SessionCall, session_id: str | None) -> None:
    """Show the checks of the current step and their results now

    Without ID, of this conversation's open session. Nothing is recorded, and no command is run.
    """
    view = evidence_records.show(call.world, call.session(session_id))
    call.answer(evidence_report.show_data(view), evidence_report.show_report(view))


@SessionCall.command("run", "flow evidence run planner-k3x9q2 tests")
@options.session_argument
@_check
@options.as_json
@options.store
@options.root
@options.wait
def run_command(call: SessionCall, session_id: str, check: str) -> int:
    """Run the command of a check and record the result

    Runs it in the project, without a shell, in an environment of a few variables. A person must have
    approved the commands of the skill with `flow skill trust SKILL --commands`. Exits with 1 if the
    check does not pass.
    """
    result = evidence_records.run(call.world, session_id, check)
    call.answer(evidence_report.run_data(session_id, result), evidence_report.run_text(result))
    return 0 if result.verdict == Verdict.PASS else 1


@SessionCall.command("approve", "flow evidence approve planner-k3x9q2 tests --reason 'ran them in CI'")
@options.session_argument
@_check
@_reason
@options.as_json
@options.store
@options.root
@options.wait
def approve_command(call: SessionCall, session_id: str, check: str, reason: str) -> None:
    """Confirm a check, as a person at a terminal

    Counts as long as the files that the check looks at stay as they are.
    """
    world = call.world
    seen = evidence_records.judged(world, session_id, check)
    _ask("approve", [seen], session_id, call.store)
    evidence_records.approve(world, session_id, seen, reason)
    call.answer({"session": session_id, "approved": [check]}, one_line(f"{check} is approved"))


@SessionCall.command("waive", "flow evidence waive planner-k3x9q2 tests --reason 'no network here'")
@options.session_argument
@click.argument("checks", nargs=-1, required=True, metavar="CHECK...")
@_reason
@options.as_json
@options.store
@options.root
@options.wait
def waive_command(call: SessionCall, session_id: str, checks: tuple[str, ...], reason: str) -> None:
    """Do without checks in this attempt, as a person at a terminal"""
    world = call.world
    seen = [evidence_records.judged(world, session_id, check) for check in checks]
    _ask("waive", seen, session_id, call.store)
    evidence_records.waive(world, session_id, checks, reason)
    call.answer(
        {"session": session_id, "waived": list(checks)},
        one_line(f"{', '.join(checks)}: waived in this attempt"),
    )


def _ask(verb: str, seen: Sequence[EvidenceResult], session_id: str, store: str | None) -> None:
    """Ask the person at the terminal, who sees what was expected and found."""
    lines = [f"session {session_id}"]
    for result in seen:
        found = f"found {result.found} ({result.verdict})"
        lines += [f"check {result.check}", f"  expected {result.expected}", f"  {found}"]
    names = [result.check for result in seen]
    typed = Command(f"evidence {verb}", session_id, *names, reason="REASON", store=store)
    question = f"{verb.capitalize()} {'this check' if len(seen) == 1 else 'these checks'}?"
    output.ask(question, shown=output.indented(lines), hint=Hint("a person runs: ", typed), checks=names)
