"""Run the commands of a session's current step, attach to them, and record how they ended.

The start of a run is recorded before its supervisor is started, and its end before it is printed. These records do not
change the revision. The session's lock is held for each record only, not while a command runs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated

from flowrail import approval
from flowrail.command import Hint
from flowrail.errors import ConflictError, TrustError, UsageError
from flowrail.evidence import arguments, project_files, runs
from flowrail.evidence.project_files import UnreadableError
from flowrail.evidence.runs import RunState
from flowrail.machines import asked_questions
from flowrail.machines.demanded_evidence import PER_ATTEMPT, StepCommand, Verdict
from flowrail.machines.evidence_results import CommandRun
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.reported_values import ValuesError
from flowrail.machines.session import Session
from flowrail.machines.session_record import RecordNote
from flowrail.machines.session_store import SessionChange
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSession
from flowrail.operations.steps import working_files
from flowrail.operations.steps.guarded_calls import check_command
from flowrail.operations.steps.held_session import HeldSession, hold
from flowrail.operations.steps.session_choice import own_session
from flowrail.skills.bundled_copies import runs_bundled_script
from flowrail.storage.files import make_private_dir, write_atomic
from flowrail.text.phrases import ago, did_you_mean, duration, listed
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line

FOLDER = "runs"
"""The folder for the files of runs, in the folder of a session."""
RECORDED_OUTPUT = 8_000
"""The last bytes of the output that a record keeps."""
MOST_RUNS = 20
"""A session keeps this many runs of commands that may be repeated, the newest."""
_READS = "reads.json"


@dataclass(frozen=True, kw_only=True)
class RanCommand(CommandRun):
    """How a command ended."""

    output: str
    """The end of its output."""
    is_repeated: bool
    """Whether it ran before, and was not run again."""
    summary: str
    """The end in one line."""

    @property
    def exit_status(self) -> int:
        """0 if it passed, 1 if it failed, 4 if its result is unknown."""
        return {Verdict.PASS: 0, Verdict.FAIL: 1}.get(Verdict(self.verdict), 4)

    def report(self) -> Report:
        """Return what a person reads. The output was printed while it ran."""
        yield one_line(self.summary)


@operation("run", "flow run tests", "flow run tests --session release-k3x9q2")
def run_command(
    environment: Environment,
    name: Annotated[str, Help("The name of a command that the current step declares.")],
    *,
    session: OptionalSession = None,
) -> RanCommand:
    """Run a command of the current step, or attach to it

    A person must have approved the commands of the skill with `flow trust`. The command runs to its end even if this
    process is killed: run it again to attach. A command that may run only once is not repeated; its recorded output is
    printed. Exits with 0 if it passed, 1 if it failed, 4 if its result is unknown, 7 if it is not approved.
    """
    return run(environment, session or own_session(environment).session.id, name, environment.stream)


def run(
    environment: Environment, session_id: str, name: str, write: Callable[[bytes], object] = lambda _: None
) -> RanCommand:
    """Run a command of the current step to its end, and pass its output to *write*.

    If it runs already, attach to it. If it must not run again, return the recorded end.
    """
    followed = ""
    while True:
        with hold(environment, session_id) as held:
            at = _AtStep.of(held, name)
            known = at.newest()
            if known is not None and known.ended_at:
                is_over = known.id == followed and not (known.verdict == Verdict.UNKNOWN and at.is_once)
                if is_over or (at.is_once and known.passed):
                    if not is_over:
                        write(_output(environment, known))
                    return describe_run(environment, known, is_repeated=not is_over)
                if at.is_once:
                    raise _ask(at, known)
            if known is None or known.ended_at:
                known = _record_start(at)
            elif known.machine != machine_name():
                raise _running(environment, at.session, known)
        folder = folder_of(environment, known)
        if runs.state_of(folder) is RunState.NEW:  # it was recorded, and not started
            runs.start(folder, environment.environ)
        runs.follow(folder, write)
        followed = known.id


@dataclass(frozen=True)
class _AtStep:
    """A command of the current step of a session, under the session's lock."""

    held: HeldSession
    session: Session
    name: str
    declared: StepCommand
    values: Mapping[str, object]
    words: tuple[str, ...]

    @classmethod
    def of(cls, held: HeldSession, name: str) -> _AtStep:
        """Return the command *name*; refuse it if the step declares no such command."""
        step = held.step
        declared = step.commands.get(name)
        if declared is None:
            remedy = (
                f"use one of {listed(step.commands)}" if step.commands else "this step declares no commands"
            )
            raise UsageError(
                f"step `{step.id}` has no command `{name[:40]}`",
                code="UNKNOWN_STEP_COMMAND",
                hint=did_you_mean(name[:40], step.commands, remedy),
                step=step.id,
                commands=list(step.commands),
            )
        environment = held.environment
        session = settled(environment, held.change).bound_to(environment.conversation)
        values = names_at(held.workflow, session, step)
        words = arguments.resolved(declared.run, values, command=name)
        return cls(held, session, name, declared, values, words)

    @property
    def is_once(self) -> bool:
        """Whether the command must not be repeated now."""
        return self.declared.once in {True, PER_ATTEMPT}

    def newest(self) -> CommandRun | None:
        """Return the newest run with the same arguments that counts now, if any."""
        return newest_run(self.session, self.held.step, self.name, self.values)


def newest_run(session: Session, step: StepDef, name: str, values: Mapping[str, object]) -> CommandRun | None:
    """Return the newest run of a command of *step* that counts there with these *values* in its arguments.

    With `once` or `reads`, that may be a run in an earlier step.
    """
    declared = step.commands[name]
    words = arguments.resolved(declared.run, values, command=name)
    for known in reversed(session.runs):
        if (known.command, known.run) == (name, words):
            counts = declared.once is True or bool(declared.reads and declared.once != PER_ATTEMPT)
            return known if counts or known.revision == session.revision else None
    return None


def folder_of(environment: Environment, run: CommandRun) -> str:
    """Return the folder with the files of a run."""
    return os.path.join(environment.store.folder(run.session), FOLDER, os.path.basename(run.id))


def machine_name() -> str:
    """Return the name of this machine, as records hold it."""
    return os.uname().nodename


def _record_start(at: _AtStep) -> CommandRun:
    """Write the files of a new run, and record that it starts."""
    held, environment = at.held, at.held.environment
    session = check_command(held, at.session, at.words)
    program = _approved_program(environment, at)
    project = working_files.work_tree(environment, session)
    started = CommandRun(
        id=f"{at.name}-{held.kept.seq + 1}",
        command=at.name,
        run=at.words,
        step=held.step.id,
        revision=session.revision,
        session=session.id,
        machine=machine_name(),
        at=environment.now,
        by=environment.by,
        is_once=at.declared.once is True,
    )
    folder = folder_of(environment, started)
    if os.path.lexists(folder):  # of a process that was killed before it recorded the start
        shutil.rmtree(folder)
    make_private_dir(os.path.dirname(folder))  # refuses a link
    make_private_dir(folder)
    started = replace(started, reads=_record_reads(environment, at, project, folder))
    runs.prepare(
        folder,
        (program, *at.words[1:]),
        project=project,
        timeout=at.declared.timeout,
        facts={fact: found.match for fact, found in at.declared.facts.items()},
    )
    held.commit(_with_run(session, started), "command", at=started.at, command=at.name, run=started.id)
    return started


def _record_reads(environment: Environment, at: _AtStep, project: str, folder: str) -> str:
    """Write the digests of the files that a command reads, and return one digest of them; empty if it reads none."""
    if not at.declared.reads:
        return ""
    try:
        patterns = [project_files.relative(pattern, project, at.values) for pattern in at.declared.reads]
        files = project_files.digests_of_patterns(project, patterns, environment.environ)
    except UnreadableError as error:
        raise UsageError(f"the files in `reads` cannot be read: {error}", hint="make them readable") from None
    write_atomic(os.path.join(folder, _READS), json.dumps({"patterns": patterns, "files": files}).encode())
    return project_files.state_of(files)


def _with_run(session: Session, run: CommandRun) -> Session:
    """Return *session* with one more run, which replaces earlier ones with the same arguments."""
    same = (run.command, run.run)
    kept = [known for known in session.runs if known.is_once or (known.command, known.run) != same]
    repeatable = [known for known in kept if known.ended_at and not known.is_once]
    dropped = {known.id for known in repeatable[: max(0, len(repeatable) - MOST_RUNS)]}
    return replace(session, runs=(*(known for known in kept if known.id not in dropped), run))


def settled(environment: Environment, change: SessionChange) -> Session:
    """Return the session of *change* after recording the end of each run that has ended."""
    session = change.kept.session
    for run in session.runs:
        if run.ended_at or run.machine != machine_name():
            continue
        folder = folder_of(environment, run)
        if runs.state_of(folder) in {RunState.NEW, RunState.RUNNING}:
            continue
        ended = _ended(environment, session, run)
        session = replace(session, runs=tuple(ended if known is run else known for known in session.runs))
        note: RecordNote = {
            "command": run.command,
            "run": run.id,
            "verdict": ended.verdict,
            "output": runs.last_output(folder, RECORDED_OUTPUT).decode("utf-8", "replace"),
        }
        change.commit(session, kind="command", at=ended.ended_at, by=environment.by, note=note)
    return session


def _ended(environment: Environment, session: Session, run: CommandRun) -> CommandRun:
    end = runs.end_of(folder_of(environment, run))
    if end is None:
        return replace(run, ended_at=environment.now, verdict=Verdict.UNKNOWN)
    passed = end.status == 0 and not end.problem
    return replace(
        run,
        ended_at=environment.now,
        verdict=Verdict.PASS if passed else Verdict.FAIL,
        status=end.status,
        seconds=end.seconds,
        problem=end.problem,
        facts=end.facts,
        changed=first_change(environment, session, run),
    )


def first_change(environment: Environment, session: Session, run: CommandRun) -> str:
    """Return the first file that *run* read and that is different now; empty if none is."""
    if not run.reads:
        return ""
    try:
        with open(os.path.join(folder_of(environment, run), _READS), encoding="utf-8") as file:
            known = json.load(file)
        project = working_files.work_tree(environment, session)
        now = project_files.digests_of_patterns(project, known["patterns"], environment.environ)
    except (OSError, ValueError, UnreadableError):
        return "the list of its files"
    return project_files.first_change(known["files"], now)


def require_no_running(environment: Environment, change: SessionChange) -> Session:
    """Return the session of *change* after recording the ends of its runs; refuse to move it while one runs."""
    session = settled(environment, change)
    for run in session.runs:
        if not run.ended_at:
            raise _running(environment, session, run)
    return session


def _running(environment: Environment, session: Session, run: CommandRun) -> ConflictError:
    where = "" if run.machine == machine_name() else f" on {run.machine}"
    wait = environment.command("run", run.command, session=session.id)
    return ConflictError(
        f"command `{run.command}` runs{where} (started {ago(run.at, environment.now)}), so the session cannot advance",
        code="COMMAND_RUNNING",
        hint=Hint("wait for its end: ", wait),
        session=session.id,
        command=run.command,
    )


def _ask(at: _AtStep, run: CommandRun) -> ConflictError:
    """Record the question whether a command may run again, and return the refusal."""
    session = at.session
    asked = asked_questions.command_question(run)
    if asked.id not in {question.id for question in session.questions}:
        session = asked_questions.with_questions(session, [*session.questions, asked])
        at.held.commit(session, "ask", questions=[asked.id])
    show = at.held.environment.command("resume", session.id)
    return ConflictError(
        f"command `{run.command}` must not run twice: {run.result}",
        code="COMMAND_NOT_REPEATED",
        hint=Hint("the user decides now; show the question: ", show),
        session=session.id,
        command=run.command,
        question=asked.id,
        verdict=run.verdict,
    )


def _output(environment: Environment, run: CommandRun) -> bytes:
    """Return the kept output of a run: from its files, or from its record if they are gone."""
    output = runs.last_output(folder_of(environment, run))
    if output:
        return output
    with suppress(ConflictError, UsageError):
        for record in environment.store.newest_first(run.session):
            if record.kind == "command" and record.note.get("run") == run.id and "output" in record.note:
                return str(record.note["output"]).encode()
    return b""


def describe_run(environment: Environment, run: CommandRun, *, is_repeated: bool) -> RanCommand:
    """Return how a run ended, with the end of its output."""
    took = f" after {duration(run.seconds)}" if run.seconds else ""
    summary = f"{run.command}: {run.result}{took}"
    if is_repeated:
        summary = f"{run.command} ran {ago(run.ended_at, environment.now)}; not run again: {run.result}"
    output = _output(environment, run)[-RECORDED_OUTPUT:].decode("utf-8", "replace")
    return RanCommand(**vars(run), output=output, is_repeated=is_repeated, summary=summary)


def _approved_program(environment: Environment, at: _AtStep) -> str:
    """Return the path of the program, as a person approved it; `TrustError` if it is not approved.

    Scripts of a bundled skill, or of an unchanged copy, need no approval.
    """
    opened = at.held.opened
    if runs_bundled_script(at.declared.run, opened.folder, opened.source):
        return sys.executable
    name = at.session.skill.partition("/")[0]
    if not opened.folder:
        raise TrustError(
            f"workflow `{name}` is defined by a program, so its commands cannot be approved",
            hint="put it into a skill's folder, and approve that with `flow trust`",
            skill=name,
        )
    project = working_files.project_of(environment, at.session)
    return approval.approved_program(
        opened.folder, project, at.declared.run, environment.state, skill=name, root=opened.named_root
    )


def facts_of(
    environment: Environment,
    workflow: Workflow,
    session: Session,
    step: StepDef,
    reported: Mapping[str, object],
) -> dict[str, object]:
    """Return the *reported* facts with those that the step takes from the output of its commands.

    A fact of a run whose files have changed since is refused. The default of a fact counts only if the command passed:
    a test run that broke says nothing about the number of failures.
    """
    facts = dict(reported)
    for fact, arg in step.reports.items():
        if arg.source is None:
            continue
        name, _, found = arg.source.partition(".")
        how = f"run `flow run {name}`; the fact is taken from its output"
        refused = partial(ValuesError, f"step `{step.id}`", names=[fact])
        if fact in facts:
            raise refused([f"`{fact}` is taken from the output of `{name}`"], hint="do not report it")
        run = newest_run(session, step, name, names_at(workflow, session, step))
        if run is None or not run.ended_at:
            if arg.required:
                raise refused([f"`{fact}` has no value, because command `{name}` did not run"], hint=how)
            continue
        changed = "" if run.is_once else first_change(environment, session, run)
        if changed:
            raise refused([f"`{fact}` is out of date: {changed} has changed since `{name}` ran"], hint=how)
        text = run.facts.get(found)
        value = step.commands[name].facts[found].default if text is None and run.passed else text
        if value is None:
            why = "" if run.passed else f": {run.result}"
            hint = f"read the output, correct the cause, then {how}"
            raise refused([f"`{fact}` was not found in the output of `{name}`{why}"], hint=hint)
        try:
            facts[fact] = arg.read(value) if isinstance(value, str) else value
        except ValueError as error:
            raise refused([f"`{fact}` {error}"], hint=how) from None
    return facts
