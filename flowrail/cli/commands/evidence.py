"""`flow evidence` and `flow attest`: the checks of a step, and statements about what was checked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import click

from flowrail.cli import options, output, output_file
from flowrail.cli.environment import SessionCall, read_text
from flowrail.command import Command, Hint
from flowrail.errors import UsageError, require_extra
from flowrail.evidence.statements import statements
from flowrail.formatters.reports import evidence as evidence_report
from flowrail.machines.definition.evidence import EvidenceResult, Verdict
from flowrail.operations.running import evidence_records
from flowrail.text import json as strict_json
from flowrail.text.phrases import count
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


@SessionCall.command(
    "attest",
    "flow attest planner-k3x9q2 --output planner.intoto.jsonl",
    "flow attest planner-k3x9q2 --key private.pem --output planner.intoto.jsonl",
    "flow attest --verify planner.intoto.jsonl --key public.pem",
)
@options.optional_session
@click.option("-o", "--output", "file", metavar="FILE", help="Write to a file instead of printing.")
@click.option(
    "--key", metavar="PEM", help="Sign with this Ed25519 private key; with --verify, the public key."
)
@click.option("--verify", "checked", metavar="FILE", help="Check the signatures in this file.")
@options.as_json
@options.store
def attest_command(
    call: SessionCall, session_id: str | None, file: str | None, key: str | None, checked: str | None
) -> None:
    """Write what was claimed and checked in a session as in-toto statements

    Without ID, of this conversation's open session.

    One statement for each step, a line each: a test result for a step that demanded evidence, otherwise a
    link. With --key, each is in a DSSE envelope, which needs `pip install 'flowrail[attest]'`. A signature
    says who wrote the statement, not that it is true.
    """
    if checked is not None and (key is None or session_id is not None or file is not None):
        raise UsageError("--verify needs --key, and neither ID nor --output", hint="give the public key")
    lines: list[dict[str, object]] = []
    if checked is None:
        lines = [*statements(call.world.store.records(call.session(session_id)))]
    if key is not None:
        require_extra("attest", "cryptography")
        from flowrail.evidence import envelope  # needs the extra flowrail[attest]

        if checked is not None:
            public = envelope.public_key(read_text(key, label="the public key")[0].encode(), key)
            _show_verified(call, checked, lambda document: envelope.verified(document, public))
            return
        private = envelope.private_key(read_text(key, label="the private key")[0].encode(), key)
        lines = [envelope.signed(statement, private) for statement in lines]
    if call.as_json:
        output.data({"statements": lines})
        return
    document = "".join(f"{json.dumps(line, ensure_ascii=False, sort_keys=True)}\n" for line in lines)
    if file is None:
        output.exact(document.rstrip("\n"))
        return
    output_file.write(file, document.encode())
    output.notes([f"{count(len(lines), 'statement')} written to {file}"])


def _show_verified(call: SessionCall, file: str, verified: Callable[[object], dict[str, Any]]) -> None:
    text, _ = read_text(file, label="the attestation")
    statements = [
        verified(strict_json.load(line, source=f"{file}:{number}"))
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip()
    ]
    if not statements:
        raise UsageError(f"{file} contains no attestation", hint="write one with `flow attest ID --key PEM`")
    lines = [one_line(_summary(statement)) for statement in statements]
    lines.append(f"{count(len(statements), 'statement')}: signed with this key, unchanged")
    call.answer({"statements": statements}, "\n".join(lines))


def _summary(statement: dict[str, Any]) -> str:
    about = statement["predicate"]
    step = about.get("step") or about.get("name")
    return f"{statement['subject'][0]['name']}: {step} {about.get('result', '')}".rstrip()
