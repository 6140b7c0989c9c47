"""Run the commands of a session's current step, and attach to them.

The start of a run is recorded before its supervisor is started, and its end before it is printed. The session's lock is
held for each record only, not while a command runs.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Annotated

from flowrail import approval
from flowrail.command import Hint
from flowrail.errors import ConflictError, TrustError, UsageError
from flowrail.evidence import arguments, project_files, runs
from flowrail.evidence.project_files import UnreadableError
from flowrail.evidence.runs import RunState
from flowrail.machines import asked_questions
from flowrail.machines.demanded_evidence import StepCommand, Verdict
from flowrail.machines.evidence_results import CommandRun
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.session import Session
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSession
from flowrail.operations.steps import working_files
from flowrail.operations.steps.command_runs import (
    READS,
    RECORDED_OUTPUT,
    folder_of,
    machine_name,
    running_error,
    settled,
)
from flowrail.operations.steps.guarded_calls import check_command
from flowrail.operations.steps.held_session import HeldSession, hold
from flowrail.operations.steps.session_choice import own_session
from flowrail.skills.bundled_copies import runs_bundled_script
from flowrail.storage.files import make_private_dir, write_atomic
from flowrail.text.phrases import ago, duration
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line
from flowrail.text.unknown_names import unknown

MOST_RUNS = 20
"""A session keeps this many runs of commands that may be repeated, the newest."""


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
                raise running_error(environment, at.session, known)
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
            raise unknown(f"command of step `{step.id}`", name, step.commands, code="UNKNOWN_STEP_COMMAND")
        environment = held.environment
        session = settled(environment, held.change).bound_to(environment.conversation)
        values = names_at(held.workflow, session, step)
        words = arguments.resolved(declared.run, values, command=name)
        return cls(held, session, name, declared, values, words)

    @property
    def is_once(self) -> bool:
        """Whether the command must not be repeated now."""
        return self.declared.once is not False

    def newest(self) -> CommandRun | None:
        """Return the newest run with the same arguments that counts now, if any."""
        return self.session.newest_run(self.name, self.declared, self.words)


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
    write_atomic(os.path.join(folder, READS), json.dumps({"patterns": patterns, "files": files}).encode())
    return project_files.state_of(files)


def _with_run(session: Session, run: CommandRun) -> Session:
    """Return *session* with one more run, which replaces earlier ones with the same arguments."""
    same = (run.command, run.run)
    kept = [known for known in session.runs if known.is_once or (known.command, known.run) != same]
    repeatable = [known for known in kept if known.ended_at and not known.is_once]
    dropped = {known.id for known in repeatable[: max(0, len(repeatable) - MOST_RUNS)]}
    return replace(session, runs=(*(known for known in kept if known.id not in dropped), run))


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
