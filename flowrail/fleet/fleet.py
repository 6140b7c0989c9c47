"""A fleet: its queue and its records, beside the store whose sessions it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping

from flowrail.command import Command, Hint
from flowrail.errors import FlowError, UsageError
from flowrail.fleet import attempt, targets
from flowrail.fleet.errors import FleetDatabaseError, ForeignFleetError, NotOpenError
from flowrail.fleet.jobs import JobQueue
from flowrail.fleet.pool import Pool, check_name, configured_pool
from flowrail.fleet.records import (
    ATTEMPTS,
    REOPENED,
    UNCOUNTED,
    AgentRun,
    FleetRecords,
    FleetSession,
    over_budget,
)
from flowrail.fleet.status import FleetStatus, PoolStatus, status_of
from flowrail.fleet.targets import Target
from flowrail.hosts.conversation import FLEET_OWNER
from flowrail.machines.engine.questions import STOP
from flowrail.machines.sessions.session import BY_EVIDENCE, BY_LIMIT
from flowrail.machines.sessions.store import UnknownSessionError
from flowrail.operations.environment import Environment, World, world_of
from flowrail.operations.running import questions, steps
from flowrail.operations.running.conversations import release
from flowrail.storage.files import make_private_dir, write_atomic
from flowrail.storage.ownership import Owner, configuration_path, read_configuration
from flowrail.text.phrases import count, duration, seconds_between

FOLDER = "fleet"
_WAIT_SECONDS = 60.0
_LONGEST_DELAY = 3600.0


class Fleet:
    """The fleet of the store that *environment* means.

    With a store in PostgreSQL its tables are in the same database, so workers on many machines share it. Otherwise they
    are in SQLite files below the folder of the store.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
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

    def world(self, conversation: str | None = None) -> World:
        """Return the world for a run whose conversation has that id."""
        return world_of(self.environment, wait=_WAIT_SECONDS)._replace(host=conversation)

    def pool(self, name: str) -> Pool:
        """Return a pool as the user configured it."""
        environ, home = self.environment.environ, self.environment.home
        pools = read_configuration(environ, home).pools
        return configured_pool(name, pools, path=configuration_path(environ, home))

    def start(self, skill: str, params: Mapping[str, object], pool: str, *, worktree: bool = False) -> str:
        """Start a session of a skill that the workers of *pool* run, and return its id."""
        check_name(pool)
        world = self.world(FLEET_OWNER)
        if worktree:  # agents elsewhere need absolute paths of the store and its files
            world = world._replace(shown_store=world.shown_store or world.store.path)
        session = steps.begin(world, skill, params).session.id
        self.run_session(session, pool, worktree=worktree)
        return session

    def run_session(self, session: str, pool: str, *, worktree: bool = False) -> None:
        """Let the workers of *pool* run an open session. One that they gave up gets all its attempts again."""
        world = self.world()
        if not world.store.read(session).session.is_open:
            raise NotOpenError(
                f"session `{session}` has ended",
                hint=Hint("see its history: ", Command("history", session, store=world.shown_store)),
                session=session,
            )
        self.records.add_session(session, check_name(pool), by=world.by, worktree=worktree)
        for target in targets.ready(world, session):
            job = self._next_job(target, self.records.runs(target.key))
            self.jobs.enqueue(job, target.key, pool, worktree=worktree)

    def status(self, *, newest: int) -> FleetStatus:
        """Return what the fleet is doing now, and the records of its *newest* runs."""
        status = status_of(self.records, self.jobs, self.world(), newest=newest)
        return status._replace(pools=tuple(self._with_budget(pool) for pool in status.pools))

    def _with_budget(self, pool: PoolStatus) -> PoolStatus:
        """Return the status of a pool as paused, if the budget that is configured here is used up."""
        try:
            limits = self.pool(pool.name)
        except UsageError:
            return pool  # configured on other machines only
        if pool.paused is not None or limits.daily_budget is None:
            return pool
        return pool._replace(paused=over_budget(pool.name, pool.spent, limits.job_cost, limits.daily_budget))

    def schedule(self, pool: Pool) -> list[str]:
        """Add the jobs that the sessions of *pool* need now, and end what has had all its attempts.

        Return the sessions whose end this call recorded: each is returned once, to one of the workers.
        """
        ended: list[str] = []
        for session in self.records.sessions():
            if session.pool == pool.name:
                try:
                    if self._schedule(session, pool):
                        ended.append(session.session)
                except FleetDatabaseError:
                    raise
                except FlowError:
                    continue  # it cannot be read now; the status says so
        return ended

    def _schedule(self, fleet_session: FleetSession, pool: Pool) -> bool:
        """Add the jobs that a session needs; return whether this call recorded its end."""
        world = self.world()
        try:
            session = world.store.read(fleet_session.session).session
        except UnknownSessionError:
            self.records.end_session(fleet_session.session, "the session was deleted")
            return False
        if not session.is_open:  # recorded after its last run, so that the trace contains that run
            at_work = {targets.target_of(start.target).session for start in self.records.running()}
            return session.id not in at_work and self.records.end_session(session.id)
        if session.owner not in {None, FLEET_OWNER, *self.records.started_by(session.id)}:
            return False  # a person or another agent took it over
        if pool.question_minutes is not None:
            self._stop_unanswered(world, session.id, 60 * pool.question_minutes)
        jobs = {target: self.records.runs(target.key) for target in targets.ready(world, session.id)}
        if all(self._next_job(target, runs) in self._added for target, runs in jobs.items()):
            return False
        still_ready = set(targets.ready(world, session.id))  # a run may have ended before its record was read
        for target in still_ready & jobs.keys():
            self._add_job(world, target, jobs[target], pool, fleet_session)
        return False

    def _add_job(
        self, world: World, target: Target, runs: list[AgentRun], pool: Pool, fleet_session: FleetSession
    ) -> None:
        failures = _failures(runs, fleet_session.at)
        if len(failures) >= pool.attempts:
            self._give_up(world, target, failures)
            return
        job = self._next_job(target, runs)
        delay = min(_LONGEST_DELAY, pool.retry_seconds * 2 ** (len(failures) - 1)) if failures else 0.0
        self.jobs.enqueue(job, target.key, pool.name, delay=delay, worktree=fleet_session.worktree)
        self._added.add(job)

    @staticmethod
    def _stop_unanswered(world: World, session_id: str, seconds: float) -> None:
        """Stop sessions with a question of the engine that had no answer for *seconds*: they end as failed."""
        for _, session in [*targets.involved(world, session_id)]:
            question = targets.open_question(session)
            if question is None or question.source not in {BY_LIMIT, BY_EVIDENCE}:
                continue
            waited = seconds_between(world.store.read(session.id).at, world.now())
            if waited is not None and waited >= seconds:
                reason = f"no answer for {duration(seconds)}"
                questions.answer(world, session.id, {question.id: [STOP]}, reason, take_over=True)

    def _give_up(self, world: World, target: Target, failures: list[AgentRun]) -> None:
        newest = failures[0]
        summary = f"{count(len(failures), 'attempt')} failed; the last one: {newest.outcome}"
        reason = f"{summary} ({newest.note})" if newest.note else summary
        if target.dispatch:
            attempt.give_up(world, target, reason)
        else:
            self.records.end_session(target.session, reason)
            release(world.store, [target.session], newest.run, at=world.now(), by=world.by)

    @staticmethod
    def _next_job(target: Target, runs: list[AgentRun]) -> str:
        """Return the id of the next job of a target. It is the same as long as that job has not ended."""
        return f"{target.key}#{sum(run.outcome not in REOPENED for run in runs) + 1}"


def folder_of(environment: Environment) -> str:
    """Return the folder for the files of the fleet of this store: logs, worktrees and, without a server, its tables."""
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
    if owner.owns(folder, FOLDER):
        return
    if any(name.endswith(".sqlite") for name in os.listdir(folder)):
        raise ForeignFleetError(
            f"the fleet in {folder} came with a clone, was moved, or belongs to another user",
            hint=f"delete {folder} to begin a new one; sessions are not in it",
            folder=folder,
        )
    write_atomic(os.path.join(folder, ".gitignore"), b"*\n")
    owner.claim(folder, FOLDER)


def _failures(runs: list[AgentRun], since: float) -> list[AgentRun]:
    """Return the failed attempts since the last success, newest first."""
    failures: list[AgentRun] = []
    for run in reversed(runs):
        if run.started_at < since or run.outcome not in ATTEMPTS | UNCOUNTED:
            break
        if run.outcome in ATTEMPTS:
            failures.append(run)
    return failures
