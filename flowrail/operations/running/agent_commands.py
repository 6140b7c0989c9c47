"""The commands with which agents work: steps, reports, questions to the user, and findings of reviews."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Annotated, Literal

from flowrail.command import Command, Hint
from flowrail.discovery.locations import OFFERED
from flowrail.errors import UsageError
from flowrail.formatters.guidance import blocks
from flowrail.formatters.guidance.content import Show
from flowrail.formatters.guidance.work import answered, put_text
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.guidance.question_relay import as_host_questions
from flowrail.machines.guidance.views import PendingQuestions
from flowrail.machines.question_input import parse_questions
from flowrail.machines.session import RecordedFinding
from flowrail.machines.transition import REPORTED
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import (
    Expect,
    Facts,
    OptionalSession,
    OptionalSkill,
    Params,
    Reason,
    SessionId,
    TakeOver,
    Wait,
)
from flowrail.operations.running import findings, questions, steps
from flowrail.operations.running.conversations import own_session
from flowrail.text.report import Part, Report, Span, Style, Table, columns

NO_VALUES: Frozen[str, str] = Frozen()
CROWD = 60.0
"""Seconds that these commands wait for a session, because many sub-agents report to one."""

Notes = Annotated[
    tuple[str, ...],
    Help(
        "What to remember, in a sentence. Shown when the session is resumed. May be repeated.",
        metavar="TEXT",
    ),
]


@dataclass(frozen=True)
class ShownStep(Guidance):
    """The current step of a session."""

    notes: tuple[str, ...] = ()
    """What the user should know beside it."""

    def xml(self, show: Show = str) -> str:
        """Return the step for an agent."""
        return blocks.xml(self, show)

    def report(self) -> Report:
        """Return the step for a person."""
        return blocks.report(self)


def _shown(environment: Environment, answer: steps.Answer) -> ShownStep:
    for note in answer.notes:
        environment.tell(note)
    return ShownStep(**vars(answer.guidance), notes=answer.notes)


@operation(
    "step",
    "flow step problem-analysis -p topic='slow login'",
    "flow step problem-analysis ok --session problem-analysis-k3x9q2 --expect 0",
    'flow step problem-analysis done -s confidence=high -s \'areas=["auth", "db"]\'',
    "flow step --session planner-k3x9q2.0.1",
)
def step(
    environment: Environment,
    skill: OptionalSkill = None,
    outcome: Annotated[
        str | None,
        Help("ok, fail, skip or iterate; done if the step itself decides."),
    ] = None,
    *,
    session: Annotated[str | None, Help("The session, if several are open.", metavar="ID")] = None,
    fact: Facts = NO_VALUES,
    expect: Expect = None,
    note: Notes = (),
    param: Params = NO_VALUES,
    new: Annotated[bool, Help("Start a new session, even if one is open.")] = False,
    again: Annotated[
        str | None,
        Help(
            "Replace the agent of dispatch N of the session's step by a new one, in a session of its own.",
            metavar="N",
        ),
    ] = None,
    take_over: TakeOver = False,
    wait: Wait = CROWD,
) -> ShownStep:
    """Show the current step, or report its outcome and show the next

    Without OUTCOME, shows the step of this conversation's open session again; nothing changes. If it has none,
    starts one (-p sets its parameters). With --session, SKILL can be left out. OUTCOME is ok, fail, skip or iterate,
    or done if the step itself decides; a reviewer may report pass for ok. Every answer prints the commands that can
    come next. A sub-agent names the session that its prompt names.
    """
    environment = environment.replaced(wait=wait)
    if session and skill and outcome is None and skill in REPORTED:
        skill, outcome = None, skill
    begins = new or bool(param)
    _check_combination(skill, outcome, session, begins=begins, again=again)
    if outcome is None and (fact or expect is not None or note):
        raise UsageError(
            "facts, --expect and --note belong to a report",
            hint=Hint("name the outcome: ", Command("step", skill or "SKILL", "OUTCOME")),
        )
    if outcome is not None:
        answer = steps.report(
            environment,
            skill,
            outcome,
            facts=fact,
            session_id=session,
            expect=expect,
            note=_sentences(note),
            take_over=take_over,
        )
    elif again is not None:
        answer = steps.replace_agent(environment, str(session), again)
    elif session:
        answer = steps.look(environment, session, skill, take_over=take_over)
    elif new:
        answer = steps.begin(environment, str(skill), param)
    else:
        answer = steps.step_again(environment, str(skill), param)
    return _shown(environment, answer)


def _sentences(texts: Sequence[str]) -> str:
    return "; ".join(text.strip() for text in texts)


def _check_combination(
    skill: str | None, outcome: str | None, session: str | None, *, begins: bool, again: str | None
) -> None:
    """Refuse options that exclude each other, or a command that names neither a skill nor a session."""
    if not (skill or session):
        hint = Hint("name it, or a session; see the skills: ", Command("list"))
        raise UsageError("the skill is missing", hint=hint)
    if session and begins:
        raise UsageError(
            "--new and -p belong to a new session, and --session names one", hint="leave one of them out"
        )
    if outcome is not None and (begins or again is not None):
        raise UsageError(
            "--new, -p and --again do not belong to a report", hint="give facts of a report with -s"
        )
    if again is not None and not session:
        raise UsageError("--again needs --session", hint="name the session whose step has the dispatch")


@operation("resume", "flow resume", "flow resume problem-analysis-k3x9q2 --format text")
def resume(
    environment: Environment, session: OptionalSession = None, *, take_over: TakeOver = False
) -> ShownStep:
    """Show the current step of a session again

    Without ID, shows this conversation's open session. The session does not change, unless --take-over makes
    it this conversation's. The skills that `flow discover` offered it are searched again.
    """
    if take_over and session is None:
        hint = Hint("see the sessions: ", Command("sessions"))
        raise UsageError("--take-over needs the id of a session", hint=hint)
    answer = steps.resume(environment, session, take_over=take_over)
    with suppress(OSError):
        os.unlink(os.path.join(environment.store.folder(answer.guidance.session), OFFERED))
    return _shown(environment, answer)


# --- questions


@dataclass(frozen=True)
class AskedUser(PendingQuestions):
    """Questions to the user, and the block that the agent returns as its whole answer."""

    host: Mapping[str, object] = field(default_factory=dict)
    """The questions as the arguments of a host's question tool."""
    block: str = ""
    """The block with the questions, and the command that records the answers."""

    def xml(self, show: Show = str) -> str:
        """Return the block."""
        return put_text(self, show)

    def report(self) -> Report:
        """Return the block for a person."""
        return self.block.split("\n")


@operation(
    "ask",
    'flow ask planner-k3x9q2 \'{"text": "Which cache?"}\'',
    "flow ask planner-k3x9q2 questions.xml",
)
def ask(
    environment: Environment,
    session: SessionId,
    asked: Annotated[str, Help("The questions.", metavar="QUESTIONS", is_document=True)],
    *,
    note: Notes = (),
    wait: Wait = CROWD,
) -> AskedUser:
    """Ask the user an agent's questions

    QUESTIONS is JSON, a needs_user_input block, a file with one of them, or - for standard input. A question without
    options is answered in free text. The session waits for the answers. Prints the block that the agent returns as
    its whole answer.
    """
    pending = questions.ask(
        environment.replaced(wait=wait),
        session,
        parse_questions(asked, source="the questions"),
        note=_sentences(note),
    )
    return AskedUser(**vars(pending), host=as_host_questions(pending.questions), block=put_text(pending))


@dataclass(frozen=True)
class AnsweredStep(Guidance):
    """The step of a session whose questions were answered."""

    notes: tuple[str, ...] = ()
    """What the user should know beside it."""
    resume_command: Command = field(default_factory=lambda: Command("resume"))
    """Prints the step again."""

    def xml(self, show: Show = str) -> str:
        """Return what to do next, in at most three lines."""
        return answered(self, self.resume_command, show)

    def report(self) -> Report:
        """Return the same for a person."""
        return self.xml().split("\n")


@operation(
    "answer",
    "flow answer planner-k3x9q2 approve=Yes",
    "flow answer planner-k3x9q2 approve=other:'only the first milestone'",
)
def answer(
    environment: Environment,
    session: SessionId,
    answers: Annotated[
        tuple[str, ...],
        Help("The label for each question, or other:TEXT for other words.", metavar="Q=OPTION"),
    ],
    *,
    reason: Reason = "",
    note: Notes = (),
    take_over: TakeOver = False,
    wait: Wait = CROWD,
) -> AnsweredStep:
    """Record the user's answers and print the next command

    ID is a session, or a skill whose open session in this conversation is meant.

    Give Q=OPTION for each question, where OPTION is a label, or Q=other:TEXT for another answer.
    If a question allows several options, give one pair for each.
    """
    environment = environment.replaced(wait=wait)
    session = questions.session_to_answer(environment, session)
    recorded = questions.answer(
        environment,
        session,
        _by_question(environment, session, answers),
        reason,
        note=_sentences(note),
        take_over=take_over,
    )
    resume_command = Command("resume", session, store=environment.store.address)
    return AnsweredStep(**vars(_shown(environment, recorded)), resume_command=resume_command)


def _by_question(environment: Environment, session: str, texts: Sequence[str]) -> dict[str, list[str]]:
    """Return texts of the form QUESTION=OPTION as the answers to each question."""
    answers: dict[str, list[str]] = {}
    for text in texts:
        name, equals, option = text.partition("=")
        if not equals or not option.strip():
            known = environment.store.read(session).session.questions
            names = [*([name] if equals else []), *(asked.id for asked in known if asked.is_open), "QUESTION"]
            typed = shlex.quote(f"{names[0]}={'OPTION' if equals else text[:60]}")
            raise UsageError(f"`{text[:60]}` is not QUESTION=OPTION", hint=f"write it as {typed}")
        answers.setdefault(name, []).append(option)
    return answers


# --- findings


@dataclass(frozen=True)
class ShownFinding(RecordedFinding):
    """A finding, and the session that keeps it."""

    session: str = ""
    """The session where the gate decides."""
    open: bool = True

    def report(self) -> Report:
        """Return what was recorded."""
        return [
            f"{self.id} {self.severity} recorded in {self.session}, where the gate decides"
            if self.open
            else f"{self.id} is resolved"
        ]


def _finding(session: str, finding: RecordedFinding) -> ShownFinding:
    return ShownFinding(**vars(finding), session=session, open=finding.is_open)


@dataclass(frozen=True)
class Findings:
    """The findings of a session."""

    session: str
    """The session where the gate decides."""
    findings: tuple[ShownFinding, ...]

    def report(self) -> Report:
        """Return a table of the findings."""
        head = columns(
            "id", "severity", "round", "state", "item", "place", "what", wraps=("item", "place", "what")
        )
        rows = map(_row, self.findings)
        return [Table(head, rows)] if self.findings else [f"no findings in {self.session}"]


def _row(finding: ShownFinding) -> list[Part]:
    state = Span("open", Style.WARNING) if finding.open else Span("resolved", Style.GOOD)
    version = f" (version {finding.version})" if finding.item and finding.version > 1 else ""
    item = f"{finding.item or ''}{version}"
    return [finding.id, finding.severity, str(finding.round), state, item, finding.place or "", finding.text]


@operation("finding add", "flow finding add planner-k3x9q2 --severity MUST --text 'no way back'")
def add_finding(
    environment: Environment,
    session: SessionId,
    *,
    severity: Annotated[str, Help("How severe it is.", metavar="MUST|SHOULD|COULD")],
    text: Annotated[str, Help("What is wrong.", metavar="T", file_option="--file")] = "",
    place: Annotated[str | None, Help("Where.", metavar="FILE:LINE")] = None,
    item: Annotated[
        str | None, Help("What it is about. The same item again records a new version.", metavar="NAME")
    ] = None,
    wait: Wait = CROWD,
) -> ShownFinding:
    """Record one finding"""
    if not text:
        raise UsageError("exactly one of --text and --file is needed", hint="give one of them")
    environment = environment.replaced(wait=wait)
    home, finding = findings.add_finding(
        environment, session, severity=severity, text=text, place=place, item=item
    )
    return _finding(home, finding)


@dataclass(frozen=True)
class NothingFound:
    """A review that found nothing."""

    session: str
    """The session where the gate decides."""
    findings: tuple[Literal[""], ...] = ()

    def report(self) -> Report:
        """Return what was recorded."""
        return [f"recorded in {self.session}: no findings"]


@operation("finding none", "flow finding none planner-k3x9q2")
def submit_without_findings(
    environment: Environment, session: SessionId, *, wait: Wait = CROWD
) -> NothingFound:
    """Record that a review found nothing"""
    return NothingFound(findings.submit_without_findings(environment.replaced(wait=wait), session))


@operation("finding list", "flow finding list planner-k3x9q2")
def list_findings(environment: Environment, session: OptionalSession = None) -> Findings:
    """List the recorded findings

    Without ID, those of this conversation's open session.
    """

    def named(own: str) -> Command:
        return Command("finding list", own, store=environment.shown_store)

    session = session or own_session(environment, named).session.id
    home, recorded = findings.list_findings(environment, session)
    return Findings(home, tuple(_finding(home, finding) for finding in recorded))


@operation("finding resolve", "flow finding resolve planner-k3x9q2 F1 --note 'tested in tests/rollback.py'")
def resolve_finding(
    environment: Environment,
    session: SessionId,
    finding: Annotated[str, Help("The finding.", metavar="FINDING")],
    *,
    note: Annotated[str, Help("How it was resolved, for the journal.", metavar="TEXT")] = "",
    wait: Wait = CROWD,
) -> ShownFinding:
    """Mark a finding as resolved

    During its review, only the reviewer who recorded a finding can resolve it. At its gate, no finding
    can be resolved.
    """
    return _finding(*findings.resolve_finding(environment.replaced(wait=wait), session, finding, note))
