"""A fleet: its queue and its records, beside the store whose sessions it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, DocumentError, FlowError, TrustError
from flowrail.fleet import attempt, targets
from flowrail.fleet.configuration import Limits
from flowrail.fleet.errors import FleetDatabaseError
from flowrail.fleet.jobs import JobQueue
from flowrail.fleet.records import ATTEMPTS, REOPENED, UNCOUNTED, AgentRun, FleetRecords, FleetSession
from flowrail.fleet.targets import Target
from flowrail.hosts.conversation import FLEET_OWNER
from flowrail.machines.agents import parent_of
from flowrail.machines.session_store import UnknownSessionError
from flowrail.operations.environment import Environment
from flowrail.operations.running import steps
from flowrail.operations.running.conversations import release
from flowrail.storage.files import make_private_dir, read_bounded, write_atomic
from flowrail.storage.ownership import Owner
from flowrail.text.phrases import count

FOLDER = "fleet"
_WAIT_SECONDS = 60.0
_LONGEST_DELAY = 3600.0


class Fleet:
    """The fleet of the store that *environment* means.

    With a store in PostgreSQL its tables are in the same database, so workers on many machines share it. Otherwise they
    are in SQLite files below the folder of the store.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment.replaced(conversation=None, wait=_WAIT_SECONDS)
        self.folder = folder_of(environment)
        _prepare_folder(environment, self.folder)
        database = environment.database
        if database is None or database.is_sqlite:
            queue_url, records_url = (f"sqlite:///{self.folder}/{name}.sqlite" for name in ("queue", "runs"))
        else:
            queue_url = records_url = database.complete_address
        self.records = FleetRecords(records_url)
        self.jobs = JobQueue(queue_url)
        self._added: set[str] = set()

    def close(self) -> None:
        """Close all connections."""
        self.jobs.close()
        self.records.close()

    def environment_of(self, conversation: str) -> Environment:
        """Return the environment for a run whose conversation has that id."""
        return self.environment.replaced(conversation=conversation, store=self.environment.store)

    def start(self, skill: str, params: Mapping[str, object], program: str) -> str:
        """Start a session of a skill that the workers of *program* run, and return its id."""
        session = steps.begin(self.environment_of(FLEET_OWNER), skill, params).session.id
        self.run_session(session, program)
        return session

    def run_session(self, session: str, program: str) -> None:
        """Let the workers of *program* run an open session. One that they gave up gets all its attempts again."""
        environment = self.environment
        if not environment.store.read(session).session.is_open:
            raise ConflictError(
                f"session `{session}` has ended",
                code="SESSION_NOT_OPEN",
                hint=Hint("see its history: ", Command("sessions", session, store=environment.shown_store)),
                session=session,
            )
        self.records.add_session(session, program, by=environment.by)
        for target in targets.ready(environment, session):
            self.jobs.enqueue(_next_job(target, self.records.runs(target.key)), target.key, program)

    def schedule(self, program: str, limits: Limits) -> None:
        """Add the jobs that the sessions of *program* need now, and give up what has had all its attempts."""
        for session in self.records.sessions():
            if session.program == program:
                try:
                    self._schedule(session, limits)
                except FleetDatabaseError:
                    raise
                except FlowError:
                    continue  # it cannot be read now; the status says so

    def _schedule(self, fleet_session: FleetSession, limits: Limits) -> None:
        environment = self.environment
        try:
            session = environment.store.read(fleet_session.session).session
        except UnknownSessionError:
            self.records.end_session(fleet_session.session, "the session was deleted")
            return
        if not session.is_open:
            self.records.end_session(session.id)
            return
        if session.owner not in {None, FLEET_OWNER, *conversations(self.records, session.id)}:
            return  # a person or another agent took it over
        runs = {target: self.records.runs(target.key) for target in targets.ready(environment, session.id)}
        if all(_next_job(target, known) in self._added for target, known in runs.items()):
            return
        still_ready = set(
            targets.ready(environment, session.id)
        )  # a run may have ended before its record was read
        for target in still_ready & runs.keys():
            self._add_job(environment, target, runs[target], limits, fleet_session)

    def _add_job(
        self,
        environment: Environment,
        target: Target,
        runs: list[AgentRun],
        limits: Limits,
        fleet_session: FleetSession,
    ) -> None:
        failures = _failures(runs, fleet_session.at)
        if len(failures) >= limits.attempts:
            self._give_up(environment, target, failures)
            return
        job = _next_job(target, runs)
        delay = min(_LONGEST_DELAY, limits.retry_seconds * 2 ** (len(failures) - 1)) if failures else 0.0
        self.jobs.enqueue(job, target.key, fleet_session.program, delay=delay)
        self._added.add(job)

    def _give_up(self, environment: Environment, target: Target, failures: list[AgentRun]) -> None:
        newest = failures[0]
        summary = f"{count(len(failures), 'attempt')} failed; the last one: {newest.outcome}"
        reason = f"{summary} ({newest.note})" if newest.note else summary
        if parent_of(target.key) is not None:
            attempt.give_up(environment, target, reason)
        else:
            self.records.end_session(target.key, reason)
            release(environment.store, [target.key], newest.run, at=environment.now, by=environment.by)


def conversations(records: FleetRecords, target: str) -> set[str]:
    """Return the ids of all runs of a target, which are the conversations that its session had in the fleet."""
    return {run.run for run in records.runs(target)}


def folder_of(environment: Environment) -> str:
    """Return the folder for the files of the fleet of this store: logs and, without a server, its tables."""
    return os.path.join(environment.store_path, FOLDER)


def has_fleet(environment: Environment) -> bool:
    """Return whether there can be a fleet. Without a server, its folder exists once it was used."""
    database = environment.database
    return (database is not None and not database.is_sqlite) or os.path.isdir(folder_of(environment))


def _prepare_folder(environment: Environment, folder: str) -> None:
    """Make the folder of a fleet; refuse one that came with a clone, because its queue decides what is run."""
    make_private_dir(environment.store_path)
    make_private_dir(folder)
    owner = Owner(environment.state)
    marked = os.path.join(folder, "owner")
    with suppress(DocumentError):
        mark = read_bounded(marked, limit=100, what="the mark").decode("ascii", "replace")
        if owner.owns(folder, FOLDER.encode(), mark):
            return
    if any(name.endswith(".sqlite") for name in os.listdir(folder)):
        raise TrustError(
            f"the fleet in {folder} came with a clone, was moved, or belongs to another user",
            code="FOREIGN_FLEET",
            hint=f"delete {folder} to begin a new one; sessions are not in it",
            folder=folder,
        )
    write_atomic(os.path.join(folder, ".gitignore"), b"*\n")
    write_atomic(marked, owner.mark(folder, FOLDER.encode()).encode())


def _next_job(target: Target, runs: list[AgentRun]) -> str:
    """Return the id of the next job of a target. It is the same as long as that job has not ended."""
    return f"{target.key}#{sum(run.outcome not in REOPENED for run in runs) + 1}"


def _failures(runs: list[AgentRun], since: str) -> list[AgentRun]:
    """Return the failed attempts since the last success, newest first."""
    failures: list[AgentRun] = []
    for run in reversed(runs):
        if run.started_at < since or run.outcome not in ATTEMPTS | UNCOUNTED:
            break
        if run.outcome in ATTEMPTS:
            failures.append(run)
    return failures
