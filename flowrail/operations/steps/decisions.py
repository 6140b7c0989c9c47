"""What waits for a person in a session, what it is about, and the person's answer to it."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowrail import git
from flowrail.errors import FlowError
from flowrail.evidence import project_files
from flowrail.evidence.file_evidence import paths_of
from flowrail.evidence.project_files import UnreadableError
from flowrail.evidence.shell_history import ShellCommand, last
from flowrail.machines.asked_questions import CONFIRM
from flowrail.machines.guidance.agent_work import QuestionToUser
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.session import Move, RecordedFinding, Session
from flowrail.machines.step import StepDef
from flowrail.machines.transition_table import transitions
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
        return self.state in {"missing", "empty"}


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
    files: Sequence[ShownFile]
    """The files that the evidence of this and the previous step names; those without content first."""
    findings: Sequence[RecordedFinding]
    """The open findings."""
    runs: Sequence[tuple[RanCommand, str]]
    """The newest run of each command, and the first file that changed since."""
    shell: Sequence[ShellCommand]
    """What the agent ran itself in this and the previous step, if a hook saw it."""
    path: Sequence[PassedStep]


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
    step = workflow.step(str(session.step))
    moves = [record.session.last for record in records if record.kind == "move" and record.session.last]
    entered = [record.at for record in records if record.kind == "move" or not record.seq]
    newest_runs = {run.command: run for run in session.runs if run.ended_at}.values()
    folder = environment.store.folder(session_id)
    return Decision(
        questions=asked,
        revisions={
            question.session: environment.store.read(question.session).session.revision for question in asked
        },
        targets={outcome: _target(workflow, session, step, Outcome(outcome)) for outcome in step.transitions},
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


def _path(workflow: Workflow, session: Session, moves: Sequence[Move]) -> Iterator[PassedStep]:
    for step_id in dict.fromkeys(move.step for move in moves):
        left = [move for move in moves if move.step == step_id]
        yield PassedStep(_title(workflow, session, step_id), len(left), left[-1].outcome)


def _title(workflow: Workflow, session: Session, step_id: str) -> str:
    step = workflow.get(step_id)
    return fill(step.name, names_at(workflow, session, step)) if step is not None else step_id


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
            back = "back to " if session.visits.get(possible.to) else ""
            texts.append(f"{back}{_title(workflow, session, possible.to)}{_effects(workflow, possible.to)}")
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
        if check.file is not None or check.files is not None:
            try:
                yield from paths_of(check, folder, values)
            except UnreadableError:
                continue


def _tracked(environment: Environment, folder: str, paths: Sequence[str]) -> frozenset[str] | None:
    """Return those of *paths* that git knows; `None` without git."""
    try:
        names = git.output_of(folder, ["ls-files", "-z", "--", *paths], environment.environ) if paths else b""
    except FlowError:
        return None
    return frozenset(os.fsdecode(names).split("\0"))


def _file(environment: Environment, folder: str, path: str, tracked: frozenset[str] | None) -> ShownFile:
    try:
        data = project_files.read(folder, path)
    except UnreadableError as error:
        return ShownFile(path, "missing", str(error))
    text, state = (data or b"").decode("utf-8", "replace"), ""
    if not text.strip():
        state = "missing" if data is None else "empty"
    elif tracked is not None:
        state = "unchanged" if path in tracked else "new"
        changed = git.ended(folder, [*_DIFF, path], environment.environ).output if path in tracked else b""
        if changed:
            state, text = "changed", changed.decode("utf-8", "replace")
    return ShownFile(path, state, text if len(text) <= LONGEST_FILE else f"{text[:LONGEST_FILE]}…")
