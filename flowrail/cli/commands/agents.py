"""Commands for questions to the user, and for the findings of reviews."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import SessionCall, given_answers, read_given, read_text
from flowrail.errors import UsageError
from flowrail.formatters.data import as_data
from flowrail.formatters.guidance.work import answered, finding_data, put_data, put_text
from flowrail.machines.engine.question_input import parse_questions
from flowrail.machines.sessions.session import RecordedFinding
from flowrail.operations.environment import Environment
from flowrail.operations.running import findings as running_findings
from flowrail.operations.running import questions
from flowrail.text.report import Part, Span, Style, Table, columns


@SessionCall.command(
    "ask",
    'flow ask planner-k3x9q2 \'{"text": "Which cache?"}\'',
    "flow ask planner-k3x9q2 questions.xml",
)
@options.session_argument
@click.argument("asked", metavar="QUESTIONS")
@options.note
@options.in_a_crowd
def ask_command(call: SessionCall, session_id: str, asked: str, note: str) -> None:
    """Ask the user an agent's questions

    QUESTIONS is JSON, a needs_user_input block, a file with one of them, or - for standard input. A question without
    options is answered in free text. The session waits for the answers. Prints the block that the agent returns as
    its whole answer.
    """
    text, source = read_given(asked, label="the questions")
    parsed = parse_questions(text, source=source)
    put = questions.ask(call.environment, session_id, parsed, note=note)
    call.answer(put_data(put), put_text(put))


@SessionCall.command(
    "answer",
    "flow answer planner-k3x9q2 approve=Yes",
    "flow answer planner-k3x9q2 approve=other:'only the first milestone'",
)
@options.session_argument
@click.argument("answers", nargs=-1, required=True, metavar="Q=OPTION...")
@options.reason
@options.note
@options.take_over
@options.in_a_crowd
def answer_command(
    call: SessionCall,
    session_id: str,
    answers: tuple[str, ...],
    reason: str,
    note: str,
    take_over: bool,
) -> None:
    """Record the user's answers and print the next command

    ID is a session, or a skill whose open session in this conversation is meant.

    Give Q=OPTION for each question, where OPTION is a label, or Q=other:TEXT for another answer.
    If a question allows several options, give one pair for each.
    """
    session_id = questions.session_to_answer(call.environment, session_id)
    answer = questions.answer(
        call.environment,
        session_id,
        given_answers(answers, lambda: _open_questions(call.environment, session_id)),
        reason,
        note=note,
        take_over=take_over,
    )
    output.notes(answer.notes)
    call.answer(as_data(answer.guidance), answered(answer.guidance, call.environment.store.address))


def _open_questions(environment: Environment, session_id: str) -> list[str]:
    return [
        question.id for question in environment.store.read(session_id).session.questions if question.is_open
    ]


@SessionCall.command("add", "flow finding add planner-k3x9q2 --severity MUST --text 'no way back'")
@options.session_argument
@click.option("--severity", required=True, metavar="MUST|SHOULD|COULD", help="How severe it is.")
@click.option("--text", "text", metavar="T", help="What is wrong.")
@click.option(
    "--file", "file", metavar="F", help="A file that describes the problem; - reads standard input."
)
@click.option("--place", metavar="FILE:LINE", help="Where.")
@click.option("--item", metavar="NAME", help="What it is about. The same item again records a new version.")
@options.in_a_crowd
def add_command(
    call: SessionCall,
    session_id: str,
    severity: str,
    text: str | None,
    file: str | None,
    place: str | None,
    item: str | None,
) -> None:
    """Record one finding"""
    if (text is None) == (file is None):
        raise UsageError("exactly one of --text and --file is needed", hint="give one of them")
    if file is not None:
        text, _ = read_text(file, label="the file of the finding")
    home, finding = running_findings.add_finding(
        call.environment, session_id, severity=severity, text=str(text), place=place, item=item
    )
    call.answer(
        finding_data(home, finding),
        f"{finding.id} {finding.severity} recorded in {home}, where the gate decides",
    )


@SessionCall.command("none", "flow finding none planner-k3x9q2")
@options.session_argument
@options.in_a_crowd
def none_command(call: SessionCall, session_id: str) -> None:
    """Record that a review found nothing"""
    home = running_findings.submit_without_findings(call.environment, session_id)
    call.answer({"session": home, "findings": []}, f"recorded in {home}: no findings")


@SessionCall.command("list", "flow finding list planner-k3x9q2")
@options.optional_session
@options.as_json
@options.store
def list_command(call: SessionCall, session_id: str | None) -> None:
    """List the recorded findings

    Without ID, those of this conversation's open session.
    """
    home, findings = running_findings.list_findings(call.environment, call.session(session_id))
    head = columns(
        "id", "severity", "round", "state", "item", "place", "what", wraps=("item", "place", "what")
    )
    table = [Table(head, map(_row, findings))]
    data = {"findings": [finding_data(home, finding) for finding in findings]}
    call.answer(data, table if findings else f"no findings in {home}")


@SessionCall.command("resolve", "flow finding resolve planner-k3x9q2 F1 --note 'tested in tests/rollback.py'")
@options.session_argument
@click.argument("finding")
@click.option("--note", default="", metavar="TEXT", help="How it was resolved, for the journal.")
@options.in_a_crowd
def resolve_command(call: SessionCall, session_id: str, finding: str, note: str) -> None:
    """Mark a finding as resolved

    During its review, only the reviewer who recorded a finding can resolve it. At its gate, no finding
    can be resolved.
    """
    home, settled = running_findings.resolve_finding(call.environment, session_id, finding, note)
    call.answer(finding_data(home, settled), f"{settled.id} is resolved")


def _row(finding: RecordedFinding) -> list[Part]:
    state = Span("open", Style.WARNING) if finding.is_open else Span("resolved", Style.GOOD)
    version = f" (version {finding.version})" if finding.item and finding.version > 1 else ""
    item = f"{finding.item or ''}{version}"
    return [finding.id, finding.severity, str(finding.round), state, item, finding.place or "", finding.text]
