"""What waits for a person in a session, what it is about, and the person's answer to it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from flowrail import git
from flowrail.errors import FlowError
from flowrail.evidence import project_files
from flowrail.evidence.file_evidence import paths_of
from flowrail.evidence.project_files import UnreadableError
from flowrail.evidence.shell_history import ShellCommand, last
from flowrail.machines import asked_questions
from flowrail.machines.asked_questions import CONFIRM
from flowrail.machines.demanded_evidence import Evidence
from flowrail.machines.guidance.agent_work import QuestionToUser
from flowrail.machines.next_step import transitions
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.question import OWN_WORDS
from flowrail.machines.session import BY_STEP, Move, RecordedFinding, Session
from flowrail.machines.session_record import Record
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.steps import command_runs, evidence_decisions, user_questions, working_files
from flowrail.operations.steps.current_step import look
from flowrail.operations.steps.step_command import RanCommand, describe_run
from flowrail.outcome import Outcome
from flowrail.text.placeholders import fill

MOST_FILES = 12
LONGEST_FILE = 20_000
"""Characters of a file that are shown."""
EMPTY, MISSING = "empty", "missing"
"""The states of a file without anything to read: a text of white space is empty, too."""
_MADE = {"answer": "answered", "approve": "confirmed", "waive": "waived"}
"""How a decision was made, by the kind of its record."""
_DIFF = ("diff", "--no-color", "--no-ext-diff", "--no-textconv", "-U6", "HEAD", "--")


@dataclass(frozen=True)
class ShownFile:
    """A file that evidence names, as it is now."""

    path: str
    state: str
    """`missing`, `empty`, `new`, `changed` or `unchanged` since the last commit, or nothing without git."""
    text: str
    """Its difference from the last commit if it changed, otherwise its content."""

    @property
    def is_suspect(self) -> bool:
        """Whether there is nothing to read in it."""
        return self.state in {EMPTY, MISSING}


@dataclass(frozen=True)
class PassedStep:
    """A step on the path so far."""

    step: str
    times: int
    """How often it was left."""
    outcome: str
    """The outcome with which it was left last."""


@dataclass(frozen=True)
class Decision:
    """What waits for a person, and what it is about."""

    questions: Sequence[QuestionToUser]
    revisions: Mapping[str, int]
    """The revisions of the sessions that ask."""
    targets: Mapping[str, str]
    """Where each outcome leads, in words."""
    reviewers: Mapping[str, Sequence[str]]
    """Who recorded the findings at each step, or that there are none: actors, or the ids of agents' sessions."""
    files: Sequence[ShownFile]
    """The files that the evidence of this and the previous step names; those without content first."""
    findings: Sequence[RecordedFinding]
    """The open findings."""
    runs: Sequence[tuple[RanCommand, str]]
    """The newest run of each command, and the first file that changed since."""
    shell: Sequence[ShellCommand]
    """What the agent ran itself in this and the previous step, if a hook saw it."""
    path: Sequence[PassedStep]


@dataclass(frozen=True)
class MadeDecision:
    """A decision after which the agent has not reported yet."""

    session: str
    """The session whose agent reads it."""
    verb: str
    """`answered`, `confirmed` or `waived`."""
    words: Sequence[str]
    """The answers, or the checks."""
    by: str
    way: str
    reason: str
    then: str
    """What follows, in sentences; empty if it depends on the agent's report."""
    is_open: bool
    """Whether its session has not ended."""


def awaited(environment: Environment, session_id: str) -> tuple[QuestionToUser, ...]:
    """Return the open questions of a session and of its agents, and the checks that a person has not confirmed yet."""
    guidance = look(environment, session_id)
    return (*guidance.open_questions, *guidance.unconfirmed)


def decide(
    environment: Environment,
    question: QuestionToUser,
    words: Sequence[str],
    reason: str = "",
    *,
    way: str,
    expect: int,
) -> bool:
    """Record a person's answer to one of the `awaited` questions, which came in that *way*.

    *expect* is the revision of its session that the person saw. Return whether it was recorded: a check is not confirmed by
    another word.
    """
    if not any(option.outcome == CONFIRM for option in question.options):
        answers = {question.id: words}
        user_questions.answer_questions(
            environment, question.session, answers, reason, expect=expect, way=way
        )
    elif list(words) == [CONFIRM]:
        evidence_decisions.confirm(
            environment, question.session, [question.id], reason, expect=expect, way=way
        )
    else:
        return False
    return True


def decision(environment: Environment, session_id: str, asked: Sequence[QuestionToUser]) -> Decision:
    """Return what a person needs to answer the questions that a session *asked*."""
    records = list(environment.store.records(session_id))
    session = records[-1].session
    workflow = environment.store.workflow(session)
    moves = [record.session.last for record in records if record.kind == "move" and record.session.last]
    entered = [record.at for record in records if record.kind == "move" or not record.seq]
    newest_runs = {run.command: run for run in session.runs if run.ended_at}.values()
    folder = environment.store.folder(session_id)
    return Decision(
        questions=asked,
        revisions={
            question.session: environment.store.read(question.session).session.revision for question in asked
        },
        targets=_targets(workflow, session),
        reviewers=_reviewers(records),
        files=_files(environment, workflow, session, [move.step for move in reversed(moves)]),
        findings=session.open_findings,
        runs=[
            (
                describe_run(environment, run, is_repeated=False),
                command_runs.first_change(environment, session, run),
            )
            for run in reversed(newest_runs)
        ],
        shell=[command for at in entered[-2:] for command in last(folder, step_entered=at)],
        path=list(_path(workflow, session, moves)),
    )


def made_decisions(environment: Environment, session_id: str) -> list[MadeDecision]:
    """Return what was decided in a session and its agents' sessions after their last reports, the newest first."""
    session = environment.store.read(session_id).session
    made: list[MadeDecision] = []
    for name in (session_id, *(dispatch.child for dispatch in session.dispatches)):
        try:
            is_newest = environment.store.read(name).kind in _MADE
            if is_newest:
                made += _made_last(environment, list(environment.store.records(name)))
        except FlowError:  # an agent's session that has not started, or cannot be read
            continue
    return made


def _made_last(environment: Environment, records: Sequence[Record]) -> Iterator[MadeDecision]:
    now = records[-1].session
    targets = _targets(environment.store.workflow(now), now) if now.is_open else {}
    for before, record in reversed(list(pairwise(records))):
        if record.kind not in _MADE:
            return
        answers = record.note.get("answers") or {record.note.get("check"): [record.note.get("check")]}
        asked = {question.id: question for question in before.session.questions}
        for name, words in answers.items():
            question, then = asked.get(name), ""
            if question is not None and question.source in asked_questions.OWN:
                then = " ".join(option.description for option in question.options if option.label in words)
            elif question is not None and question.source == BY_STEP and not now.open_questions:
                target = targets.get(asked_questions.decided_by_answers(now.questions))
                then = f"Then {target}." if target else ""
            yield MadeDecision(
                session=now.id,
                verb=_MADE[record.kind],
                words=[str(word).removeprefix(OWN_WORDS) for word in words],
                by=record.by,
                way=str(record.note.get("way") or ""),
                reason=str(record.note.get("reason") or ""),
                then=then,
                is_open=now.is_open,
            )


def _reviewers(records: Sequence[Record]) -> dict[str, list[str]]:
    """Return who reviewed at each step when the session was there last."""
    visits: dict[str, tuple[int, dict[str, None]]] = {}
    for record in records:
        if record.kind == "finding":
            step, revision = str(record.session.step), record.session.revision
            found = {finding.id: finding.by for finding in record.session.findings}
            by = record.note.get("finder") or found.get(str(record.note.get("finding"))) or record.by
            known = visits.get(step, (revision, {}))
            visits[step] = (revision, {**(known[1] if known[0] == revision else {}), str(by): None})
    return {step: list(finders) for step, (_, finders) in visits.items()}


def _path(workflow: Workflow, session: Session, moves: Sequence[Move]) -> Iterator[PassedStep]:
    for step_id in dict.fromkeys(move.step for move in moves):
        left = [move for move in moves if move.step == step_id]
        yield PassedStep(_title(workflow, session, step_id), len(left), left[-1].outcome)


def _title(workflow: Workflow, session: Session, step_id: str) -> str:
    step = workflow.get(step_id)
    return fill(step.name, names_at(workflow, session, step)) if step is not None else step_id


def _targets(workflow: Workflow, session: Session) -> dict[str, str]:
    step = workflow.step(str(session.step))
    return {outcome: _target(workflow, session, step, Outcome(outcome)) for outcome in step.transitions}


def _target(workflow: Workflow, session: Session, step: StepDef, outcome: Outcome) -> str:
    """Return where *outcome* leads now and what may happen there, in words."""
    texts, is_last = [], step.limit is not None and session.visit >= session.allowed(step.id, step.limit)
    for possible in transitions(workflow, step, outcome):
        if possible.at_limit not in {None, is_last}:
            continue
        if possible.to is None:
            end = "the session ends as failed" if possible.fails else "the session ends"
            texts.append("you are asked how to continue" if possible.asks_user else end)
        else:
            moves = "goes back to" if session.visits.get(possible.to) else "continues with"
            texts.append(
                f"the work {moves} {_title(workflow, session, possible.to)}{_effects(workflow, possible.to)}"
            )
    return " or ".join(dict.fromkeys(texts))


def _effects(workflow: Workflow, step_id: str) -> str:
    """Return what can happen only at this step, or only once."""
    declared = workflow.step(step_id).commands.values()
    once = [f"runs `{shlex.join(command.run)}` once" for command in declared if command.once]
    guarded = [
        f"may run `{pattern[5:-1]}`" if pattern.startswith("Bash(") else f"may use `{pattern}`"
        for pattern, steps in workflow.guards.items()
        if step_id in steps
    ]
    return f", which {' and '.join([*once, *guarded])}" if once or guarded else ""


# --- files


def suspect_checks(
    environment: Environment, workflow: Workflow, session: Session, checks: Sequence[tuple[str, str]]
) -> dict[tuple[str, str], str]:
    """Return those of *checks*, each a step and the id of a check, that name a file without content now, with its state."""
    folder, states = working_files.work_tree(environment, session), {}
    for step_id, name in dict.fromkeys(checks):
        step = workflow.get(step_id)
        if step is None or name not in step.checks:
            continue
        values = names_at(workflow, session, step)
        for path in list(_paths_of(step.checks[name], folder, values))[:MOST_FILES]:
            state, _ = _read(folder, path)
            if state:
                states[step_id, name] = state
    return states


def _files(
    environment: Environment, workflow: Workflow, session: Session, left: Sequence[str]
) -> list[ShownFile]:
    """Return the files of this and the previous step, or of the last step before them that names any."""
    folder = working_files.work_tree(environment, session)
    paths: dict[str, None] = {}
    for number, step_id in enumerate([str(session.step), *left]):
        if number > 1 and paths:
            break
        step = workflow.get(step_id)
        paths |= dict.fromkeys(_named_paths(step, workflow, session, folder)) if step is not None else {}
    shown_paths = list(paths)[:MOST_FILES]
    tracked = _tracked(environment, folder, shown_paths)
    files = [_file(environment, folder, path, tracked) for path in shown_paths]
    return sorted(files, key=lambda file: not file.is_suspect)


def _named_paths(step: StepDef, workflow: Workflow, session: Session, folder: str) -> Iterator[str]:
    values = names_at(workflow, session, step)
    for check in step.checks.values():
        yield from _paths_of(check, folder, values)


def _paths_of(check: Evidence, folder: str, values: Mapping[str, object]) -> Iterator[str]:
    if check.file is not None or check.files is not None:
        with suppress(UnreadableError):
            yield from paths_of(check, folder, values)


def _read(folder: str, path: str) -> tuple[str, str]:
    """Return the state of a file without content, otherwise nothing; and its text, or why it cannot be read."""
    try:
        data = project_files.read(folder, path)
    except UnreadableError as error:
        return MISSING, str(error)
    text = (data or b"").decode("utf-8", "replace")
    return "" if text.strip() else MISSING if data is None else EMPTY, text


def _tracked(environment: Environment, folder: str, paths: Sequence[str]) -> frozenset[str] | None:
    """Return those of *paths* that git knows; `None` without git."""
    try:
        names = git.output_of(folder, ["ls-files", "-z", "--", *paths], environment.environ) if paths else b""
    except FlowError:
        return None
    return frozenset(os.fsdecode(names).split("\0"))


def _file(environment: Environment, folder: str, path: str, tracked: frozenset[str] | None) -> ShownFile:
    state, text = _read(folder, path)
    if not state and tracked is not None:
        state = "unchanged" if path in tracked else "new"
        changed = git.ended(folder, [*_DIFF, path], environment.environ).output if path in tracked else b""
        if changed:
            state, text = "changed", changed.decode("utf-8", "replace")
    return ShownFile(path, state, text if len(text) <= LONGEST_FILE else f"{text[:LONGEST_FILE]}…")
