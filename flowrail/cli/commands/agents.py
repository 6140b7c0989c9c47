"""Commands for sub-agents, questions and reviews."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import facts_of, given_answers, read_text, session_or_own, world
from flowrail.errors import UsageError
from flowrail.formatters.guidance.content import result_lines
from flowrail.formatters.guidance.work import (
    answered,
    assignment_data,
    assignment_text,
    assignment_xml,
    ended_data,
    finding_data,
    put_data,
    put_text,
)
from flowrail.machines.engine.question_input import parse_questions
from flowrail.machines.sessions.session import RecordedFinding
from flowrail.operations.environment import World
from flowrail.operations.running import dispatched_work, questions
from flowrail.operations.running import findings as running_findings
from flowrail.operations.running import questions as running_questions
from flowrail.operations.running.steps import Answer
from flowrail.text.report import Part, Span, Style, Table, columns
from flowrail.text.safe_text import visible


@click.command(
    "claim",
    epilog=options.examples(
        "flow claim deepthink-k3x9q2 d2-1", "flow claim deepthink-k3x9q2 d2-1 --as agent-7"
    ),
)
@options.session_argument
@click.argument("dispatch")
@click.option("--as", "holder", metavar="NAME", help="Who claims it, for the journal.")
@click.option("--token", metavar="T", help="Continue a dispatch that another agent claimed, by its token.")
@options.form
@options.store
@options.wait_in_a_crowd
def claim_command(
    session_id: str,
    dispatch: str,
    holder: str | None,
    token: str | None,
    form: str | None,
    store: str | None,
    wait: float,
) -> None:
    """Claim a dispatch of a step

    If the dispatch runs a workflow, starts its session and prints the first step. Otherwise prints a
    prompt and the command that reports the result. The lease is one hour unless the step sets
    another; it is renewed when the session moves.
    """
    taken = dispatched_work.claim(world(store=store, wait=wait), session_id, dispatch, holder, token=token)
    if isinstance(taken, Answer):
        output.notes(taken.notes)
        output.show(taken.guidance, form)
        return
    form = form or output.usual_form()
    if form == "json":
        output.data(assignment_data(taken))
    else:
        output.text(assignment_xml(taken) if form == "xml" else assignment_text(taken))


@click.command(
    "finish",
    epilog=options.examples(
        "flow finish deepthink-k3x9q2 d2-1 ok --token 7kq2m9xw4r3p",
        "flow finish deepthink-k3x9q2 d2-1 --cancel",
    ),
)
@options.session_argument
@click.argument("dispatch")
@click.argument("outcome", required=False)
@options.token
@options.facts
@options.memory
@click.option("--cancel", is_flag=True, help="Cancel the dispatch. Needs no token.")
@options.as_json
@options.store
@options.wait_in_a_crowd
def finish_command(
    session_id: str,
    dispatch: str,
    outcome: str | None,
    token: str | None,
    assignments: tuple[str, ...],
    facts_file: str | None,
    found: str,
    remember: str,
    cancel: bool,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Report the result of a dispatch

    OUTCOME is ok or fail. A late or second result is refused; the same result again prints the same
    answer. Prints the lines that the agent answers with.
    """
    here = world(store=store, wait=wait)
    if cancel and outcome is not None:
        raise UsageError(f"`{outcome[:40]}` and --cancel exclude each other", hint="leave one of them out")
    if cancel:
        ended = dispatched_work.cancel(here, session_id, dispatch)
    elif outcome is None or token is None:
        raise UsageError(
            "the outcome and its token are missing",
            hint="give both, or give --cancel",
        )
    else:
        facts = facts_of(assignments, facts_file)
        ended = dispatched_work.finish(
            here, session_id, dispatch, outcome, token=token, facts=facts, found=found, remember=remember
        )
    if as_json:
        output.data(ended_data(ended))
    else:
        output.text(visible("\n".join(result_lines(ended.answer, str))))


@click.command(
    "ask", epilog=options.examples("flow ask planner-k3x9q2 questions.xml", "flow ask planner-k3x9q2 -")
)
@options.session_argument
@click.argument("file")
@options.token
@options.memory
@options.as_json
@options.store
@options.wait_in_a_crowd
def ask_command(
    session_id: str,
    file: str,
    token: str | None,
    found: str,
    remember: str,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Ask the user an agent's questions

    FILE holds the needs_user_input block or the same as JSON; - reads standard input. The session
    waits for the answers. Prints the block that the agent returns as its whole answer.
    """
    text, source = read_text(file, what="the file of questions")
    questions = parse_questions(text, source=source)
    here = world(store=store, wait=wait)
    put = running_questions.ask(here, session_id, questions, token=token, found=found, remember=remember)
    if as_json:
        output.data(put_data(put))
    else:
        output.text(put_text(put))


@click.command(
    "answer",
    epilog=options.examples(
        "flow answer planner-k3x9q2 approve=Yes",
        "flow answer planner-k3x9q2 approve=other:'only the first milestone'",
    ),
)
@options.session_argument
@click.argument("answers", nargs=-1, required=True, metavar="Q=OPTION...")
@options.reason
@options.memory
@options.take_over
@options.as_json
@options.store
@options.wait_in_a_crowd
def answer_command(
    session_id: str,
    answers: tuple[str, ...],
    reason: str,
    found: str,
    remember: str,
    take_over: bool,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Record the user's answers and print the next command

    Give Q=OPTION for each question, where OPTION is a label, or Q=other:TEXT for another answer.
    If a question allows several options, give one pair for each.
    """
    here = world(store=store, wait=wait)
    answer = questions.answer(
        here,
        session_id,
        given_answers(answers, lambda: _open_questions(here, session_id)),
        reason,
        found=found,
        remember=remember,
        take_over=take_over,
    )
    output.notes(answer.notes)
    if as_json:
        output.show(answer.guidance, "json")
    else:
        output.text(answered(answer.guidance, here.store.address))


def _open_questions(here: World, session_id: str) -> list[str]:
    return [question.id for question in here.store.read(session_id).session.questions if question.is_open]


@click.group("finding")
def finding_command() -> None:
    """Record, list and resolve findings of a review

    A review gate decides from the findings. Findings of a sub-agent's session count for the nearest
    gate above it.
    """


@finding_command.command(
    "add",
    epilog=options.examples("flow finding add planner-k3x9q2 --severity MUST --text 'no way back'"),
)
@options.session_argument
@click.option("--severity", required=True, metavar="MUST|SHOULD|COULD", help="How severe it is.")
@click.option("--text", "text", metavar="T", help="What is wrong.")
@click.option(
    "--file", "file", metavar="F", help="A file that describes the problem; - reads standard input."
)
@click.option("--place", metavar="FILE:LINE", help="Where.")
@click.option("--item", metavar="NAME", help="What it is about. The same item again records a new version.")
@options.token
@options.as_json
@options.store
@options.wait_in_a_crowd
def add(
    session_id: str,
    severity: str,
    text: str | None,
    file: str | None,
    place: str | None,
    item: str | None,
    token: str | None,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Record one finding"""
    if (text is None) == (file is None):
        raise UsageError("exactly one of --text and --file is needed", hint="give one of them")
    said = text if text is not None else read_text(str(file), what="the file of the finding")[0]
    home, finding = running_findings.add_finding(
        world(store=store, wait=wait),
        session_id,
        severity=severity,
        text=said,
        place=place,
        item=item,
        token=token,
    )
    if as_json:
        output.data(finding_data(home, finding))
    else:
        output.text(f"{finding.id} {finding.severity} recorded in {home}, where the gate decides")


@finding_command.command("none", epilog=options.examples("flow finding none planner-k3x9q2"))
@options.session_argument
@options.token
@options.as_json
@options.store
@options.wait_in_a_crowd
def none(session_id: str, token: str | None, as_json: bool, store: str | None, wait: float) -> None:
    """Record that a review found nothing"""
    home = running_findings.submit_without_findings(world(store=store, wait=wait), session_id, token=token)
    if as_json:
        output.data({"session": home, "findings": []})
    else:
        output.text(f"recorded in {home}: no findings")


@finding_command.command("list", epilog=options.examples("flow finding list planner-k3x9q2"))
@options.optional_session
@options.as_json
@options.store
def list_(session_id: str | None, as_json: bool, store: str | None) -> None:
    """List the recorded findings

    Without ID, those of this conversation's open session.
    """
    here = world(store=store)
    home, findings = running_findings.list_findings(here, session_or_own(here, session_id))
    items = any(each.item for each in findings)
    if as_json:
        output.data({"findings": [finding_data(home, each) for each in findings]})
    elif not findings:
        output.text(f"no findings in {home}")
    else:
        titles = ("id", "severity", "round", "state", *(["item"] if items else []), "place", "what")
        head = columns(*titles, wraps=("item", "place", "what"))
        output.report([Table(head, [_finding_row(each, items=items) for each in findings])])


@finding_command.command(
    "resolve",
    epilog=options.examples("flow finding resolve planner-k3x9q2 F1 --note 'tested in tests/rollback.py'"),
)
@options.session_argument
@click.argument("finding")
@click.option("--note", default="", metavar="TEXT", help="How it was resolved, for the journal.")
@options.token
@options.as_json
@options.store
@options.wait_in_a_crowd
def resolve(
    session_id: str,
    finding: str,
    note: str,
    token: str | None,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Mark a finding as resolved

    During its review, only the reviewer who recorded a finding can resolve it. At its gate, no finding
    can be resolved.
    """
    here = world(store=store, wait=wait)
    home, settled = running_findings.resolve_finding(here, session_id, finding, note, token=token)
    if as_json:
        output.data(finding_data(home, settled))
    else:
        output.text(f"{settled.id} is resolved")


def _finding_row(each: RecordedFinding, *, items: bool) -> list[Part]:
    state = Span("open", Style.WARNING) if each.is_open else Span("resolved", Style.GOOD)
    about = f"{each.item} (version {each.version})" if each.item and each.version > 1 else each.item or ""
    return [
        each.id,
        each.severity,
        str(each.round),
        state,
        *([about] if items else []),
        each.place or "",
        each.text,
    ]
