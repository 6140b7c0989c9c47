"""The runs of the commands of a session's current step: which counts, how it ended, and the facts in its output.

The end of a run is recorded before anything else happens in its session. These records do not change the revision.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from flowrail.command import Hint
from flowrail.errors import ConflictError
from flowrail.evidence import arguments, project_files, runs
from flowrail.evidence.project_files import UnreadableError
from flowrail.evidence.runs import RunState
from flowrail.machines.demanded_evidence import Verdict
from flowrail.machines.evidence_results import CommandRun
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.reported_values import ValuesError
from flowrail.machines.session import Session
from flowrail.machines.session_record import RecordNote
from flowrail.machines.session_store import SessionChange
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.steps import working_files
from flowrail.text.phrases import ago

FOLDER = "runs"
"""The folder for the files of runs, in the folder of a session."""
RECORDED_OUTPUT = 8_000
"""The last bytes of the output that a record keeps."""
READS = "reads.json"
"""The file of a run with the digests of the files that the command reads."""


def newest_run(session: Session, step: StepDef, name: str, values: Mapping[str, object]) -> CommandRun | None:
    """Return the newest run of a command of *step* that counts there with these *values* in its arguments."""
    declared = step.commands[name]
    return session.newest_run(name, declared, arguments.resolved(declared.run, values, command=name))


def folder_of(environment: Environment, run: CommandRun) -> str:
    """Return the folder with the files of a run."""
    return os.path.join(environment.store.folder(run.session), FOLDER, os.path.basename(run.id))


def machine_name() -> str:
    """Return the name of this machine, as records hold it."""
    return os.uname().nodename


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
        with open(os.path.join(folder_of(environment, run), READS), encoding="utf-8") as file:
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
            raise running_error(environment, session, run)
    return session


def running_error(environment: Environment, session: Session, run: CommandRun) -> ConflictError:
    """Return the refusal of a change to a session while a command runs."""
    where = "" if run.machine == machine_name() else f" on {run.machine}"
    wait = environment.command("run", run.command, session=session.id)
    return ConflictError(
        f"command `{run.command}` runs{where} (started {ago(run.at, environment.now)}), so the session cannot advance",
        code="COMMAND_RUNNING",
        hint=Hint("wait for its end: ", wait),
        session=session.id,
        command=run.command,
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
