"""A worker: runs the jobs of its pool, sends heartbeats, and recovers the jobs of workers that were lost."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable
from typing import TypeVar

from flowrail.discovery.locations import find_project_root
from flowrail.errors import FlowError, StorageError
from flowrail.fleet import attempt
from flowrail.fleet.errors import WorkerReplacedError
from flowrail.fleet.fleet import Fleet
from flowrail.fleet.folders import require_approved, worktree_of
from flowrail.fleet.pool import Pool
from flowrail.fleet.records import REOPENED, AgentRun, RunOutcome, Start
from flowrail.fleet.targets import Target, target_of
from flowrail.hosts.conversation import short_id
from flowrail.machines.engine.dispatched_work import DispatchGoneError
from flowrail.text.phrases import times
from flowrail.text.safe_text import one_line

BEAT_SECONDS = 1.0
LOST_SECONDS = 60.0
"""A worker without a heartbeat for so long is lost."""
_PATIENCE_SECONDS = 600.0
_STOP_SECONDS = 30.0

T = TypeVar("T")


class Worker:
    """A process that runs jobs of *pool* in the project folder of the fleet's environment.

    *say* gets a line for each run. After `run` has returned, its threads may still wait: the process must end.
    """

    def __init__(
        self, fleet: Fleet, pool: Pool, *, say: Callable[[str], object], lost_seconds: float = LOST_SECONDS
    ) -> None:
        self.id = f"worker-{uuid.uuid4().hex[:12]}"
        self._fleet, self._pool, self._say = fleet, pool, say
        self._lost_seconds = lost_seconds
        self._machine = os.uname().nodename
        self._project = find_project_root(fleet.environment.cwd)
        self._stop = threading.Event()
        self._running: set[str] = set()
        self._heard_at = time.monotonic()

    @property
    def is_stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Kill the agents and put their jobs back into the queue."""
        self._stop.set()

    def run(self) -> None:
        """Run jobs until `stop` is called; `WorkerReplacedError` if other workers took over its jobs."""
        fleet, pool = self._fleet, self._pool
        fleet.records.register(self.id, pool.name, self._machine, os.getpid(), pool.slots)
        fleet.jobs.listen(pool, self.id, self._run_job)
        replaced = is_away = False
        try:
            while not self._stop.is_set():
                try:
                    replaced = not self._beat()
                    if replaced:
                        break
                    if fleet.records.take_turn(f"{pool.name} jobs", BEAT_SECONDS / 2):
                        fleet.schedule(pool)
                    if is_away:
                        is_away = False
                        self._say("the database answers again")
                except StorageError as error:
                    if not is_away:
                        is_away = True
                        self._say(f"waiting for the database: {error.message}")
                self._stop.wait(BEAT_SECONDS)
        finally:
            self._end()
        if replaced:
            raise WorkerReplacedError(
                "this worker was silent for too long, so other workers took over its jobs",
                hint="start it again",
                worker=self.id,
            )

    def _beat(self) -> bool:
        """Send a heartbeat. If it is this worker's turn, recover the jobs of lost workers.

        Return `False` if the others have declared this worker lost.
        """
        records, pool = self._fleet.records, self._pool.name
        if not records.beat(self.id):
            return False
        last_beat, self._heard_at = self._heard_at, time.monotonic()
        if self._heard_at - last_beat > self._lost_seconds / 2:
            return True  # the database was away, so the others could not send heartbeats either
        if records.take_turn(f"{pool} recovery", self._lost_seconds / 2):
            for lost in records.lose_workers(pool, self._lost_seconds):
                self._say(f"{lost.id} on {lost.machine} is lost")
            alive = {worker.id for worker in records.workers()}
            jobs = self._fleet.jobs.resume(pool, except_workers=alive)
            if jobs:
                self._say(f"queued again: {', '.join(jobs)}")
        return True

    def _end(self) -> None:
        """Wait until the runs are recorded, and put their jobs back into the queue."""
        self._stop.set()
        deadline = time.monotonic() + _STOP_SECONDS
        while self._running and time.monotonic() < deadline:
            time.sleep(0.05)
        self._fleet.jobs.stop_listening()
        self._fleet.jobs.resume(self._pool.name, only_worker=self.id)
        self._fleet.records.end_worker(self.id, "stopped")

    def _run_job(self, job: str, key: str, worktree: bool) -> None:
        """Do one job: one run of an agent, and its record."""
        self._running.add(job)
        try:
            has_ended = not self._stop.is_set() and self._run_target(job, target_of(key), worktree=worktree)
        finally:
            self._running.discard(job)
        while not has_ended:
            time.sleep(_STOP_SECONDS)  # the worker stops, and another one gets the job

    def _run_target(self, job: str, target: Target, *, worktree: bool) -> bool:
        """Run an agent for *target* and return whether the job has ended, unlike one that must run again."""
        fleet, pool = self._fleet, self._pool
        earlier = [run for run in self._patient(lambda: fleet.records.runs(target.key)) if run.job == job]
        if any(run.outcome not in REOPENED for run in earlier):
            return True  # its worker was lost after it had recorded the end
        lost_start = self._patient(lambda: fleet.records.open_start(job))
        if lost_start is not None:
            self._record(_without_agent(lost_start, RunOutcome.WORKER_LOST))
            losses = 1 + sum(run.outcome is RunOutcome.WORKER_LOST for run in earlier)
            if losses > pool.attempts:
                note = f"its worker was lost {times(losses)}"
                self._record(_without_agent(lost_start, RunOutcome.REFUSED, note))
                return True
        run = str(uuid.uuid4())
        start = Start(run, job, target.key, pool.name, self.id, pool.job_cost)
        if not self._may_start(start):
            return False
        started_at = self._patient(fleet.records.now)
        self._say(f"{job}: started ({run})")
        record = AgentRun(*start[:5], RunOutcome.REFUSED, started_at, machine=self._machine)
        done, quota_until = self._attempt(record, target, fence=lost_start is not None, worktree=worktree)
        self._record(done)
        if quota_until is not None:
            self._patient(
                lambda: fleet.records.pause(pool.name, until=quota_until, reason="its quota is used up")
            )
        return done.outcome not in REOPENED or not self._stop.is_set()

    def _attempt(
        self, record: AgentRun, target: Target, *, fence: bool, worktree: bool
    ) -> tuple[AgentRun, float | None]:
        """Run an agent and complete its *record*, which says that the work was refused."""
        fleet = self._fleet
        world, environment = fleet.world(record.run), fleet.environment
        environ: dict[str, str] = {**environment.environ}
        folder = self._project
        try:
            if worktree:
                folder = worktree_of(
                    self._project, os.path.join(fleet.folder, "worktrees"), target.key, environ
                )
                environ["FLOW_STORE"] = (
                    environment.database.complete_address if environment.database else environment.store_path
                )
            require_approved(self._project, environment.state, worktree=folder if worktree else "")
            run_ids = self._patient(lambda: fleet.records.started_by(target.key))
            holders = {short_id(run_id) for run_id in run_ids}
            taken = self._patient(lambda: attempt.take(world, target, holders=holders, fence=fence))
            return attempt.run(
                world,
                taken,
                self._pool,
                record,
                folder=folder,
                files=os.path.join(fleet.folder, "logs"),
                environ=environ,
                stop=self._stop,
                patient=self._patient,
            )
        except FlowError as error:
            newest = self._patient(lambda: fleet.records.open_start(record.job))
            replaced = (
                isinstance(error, DispatchGoneError) and newest is not None and newest.run != record.run
            )
            outcome = RunOutcome.FENCED if replaced else RunOutcome.REFUSED
            return record._replace(outcome=outcome, note=one_line(error.message)), None
        except Exception as error:  # noqa: BLE001 - a bug: without a record, the job would be forgotten
            return record._replace(note=one_line(f"{type(error).__name__}: {error}")), None

    def _may_start(self, start: Start) -> bool:
        """Wait until the pool may start the run; return `False` if the worker stops first."""
        last_reason = ""
        while not self._stop.is_set():
            state = self._patient(
                lambda: self._fleet.records.start(start, daily_budget=self._pool.daily_budget)
            )
            if state is None:
                return True
            if state.reason != last_reason:
                self._say(f"{start.job}: waits, because pool {start.pool} is paused: {state.reason}")
                last_reason = state.reason
            self._stop.wait(BEAT_SECONDS)
        return False

    def _record(self, run: AgentRun) -> None:
        """Record that a run ends now."""
        ended = run._replace(ended_at=self._patient(self._fleet.records.now))
        self._patient(lambda: self._fleet.records.record(ended))
        self._say(f"{run.job}: {run.outcome}{f' ({run.note})' if run.note else ''}")

    def _patient(self, read: Callable[[], T]) -> T:
        """Call *read*, again and again while a database does not answer."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            try:
                return read()
            except StorageError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(1)


def _without_agent(start: Start, outcome: RunOutcome, note: str = "") -> AgentRun:
    """Return the record of a run that ended without its worker."""
    return AgentRun(*start[:5], outcome=outcome, started_at=start.at, note=note)
