"""A worker: runs the jobs of a program, sends heartbeats, and recovers the jobs of workers that were lost."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from flowrail.discovery.project_root import find_project_root
from flowrail.errors import ConflictError, FlowError, StorageError
from flowrail.fleet import attempt
from flowrail.fleet.configuration import Limits
from flowrail.fleet.fleet import Fleet, conversations
from flowrail.fleet.folders import require_approved
from flowrail.fleet.records import REOPENED, AgentRun, RunOutcome, WorkerRecord
from flowrail.fleet.targets import Target
from flowrail.machines.agents import DispatchGoneError
from flowrail.text.phrases import iso_time, times
from flowrail.text.safe_text import one_line

BEAT_SECONDS = 1.0
LOST_SECONDS = 60.0
"""A worker without a heartbeat for so long is lost."""
_PATIENCE_SECONDS = 600.0
_STOP_SECONDS = 30.0

T = TypeVar("T")


class Worker:
    """A process that runs agents of *program* in the project folder of the fleet's environment.

    *say* gets a line for each run. After `run` has returned, its threads may still wait: the process must end.
    """

    def __init__(
        self,
        fleet: Fleet,
        program: str,
        limits: Limits,
        *,
        say: Callable[[str], object],
        lost_seconds: float = LOST_SECONDS,
    ) -> None:
        self.id = f"worker-{uuid.uuid4().hex[:12]}"
        self._fleet, self._program, self._limits, self._say = fleet, program, limits, say
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
        fleet, program, slots = self._fleet, self._program, self._limits.slots
        fleet.records.register(WorkerRecord(self.id, program, self._machine, os.getpid(), slots))
        fleet.jobs.listen(program, self.id, slots, self._run_job)
        replaced = is_away = False
        try:
            while not self._stop.is_set():
                try:
                    replaced = not self._beat()
                    if replaced:
                        break
                    if fleet.records.take_turn(f"{program} jobs", BEAT_SECONDS / 2):
                        fleet.schedule(program, self._limits)
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
            raise ConflictError(
                "this worker was silent for too long, so other workers took over its jobs",
                code="WORKER_REPLACED",
                hint="start it again",
                worker=self.id,
            )

    def _beat(self) -> bool:
        """Send a heartbeat. If it is this worker's turn, recover the jobs of lost workers.

        Return `False` if the others have declared this worker lost.
        """
        records, program = self._fleet.records, self._program
        if not records.beat(self.id):
            return False
        last_beat, self._heard_at = self._heard_at, time.monotonic()
        if self._heard_at - last_beat > self._lost_seconds / 2:
            return True  # the database was away, so the others could not send heartbeats either
        if records.take_turn(f"{program} recovery", self._lost_seconds / 2):
            for lost in records.lose_workers(program, self._lost_seconds):
                self._say(f"{lost.id} on {lost.machine} is lost")
            alive = {worker.id for worker in records.workers()}
            jobs = self._fleet.jobs.resume(program, except_workers=alive)
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
        self._fleet.jobs.resume(self._program, only_worker=self.id)
        self._fleet.records.end_worker(self.id)

    def _run_job(self, job: str, key: str) -> None:
        """Do one job: one run of an agent, and its record."""
        self._running.add(job)
        try:
            has_ended = not self._stop.is_set() and self._run_target(job, Target(key))
        finally:
            self._running.discard(job)
        while not has_ended:
            time.sleep(_STOP_SECONDS)  # the worker stops, and another one gets the job

    def _run_target(self, job: str, target: Target) -> bool:
        """Run an agent for *target* and return whether the job has ended, unlike one that must run again."""
        records = self._fleet.records
        earlier = [run for run in self._patient(lambda: records.runs(target.key)) if run.job == job]
        if any(run.outcome not in REOPENED for run in earlier):
            return True  # its worker was lost after it had recorded the end
        lost = [run for run in earlier if run.outcome is RunOutcome.RUNNING]
        losses = len(lost) + sum(run.outcome is RunOutcome.WORKER_LOST for run in earlier)
        is_last = losses > self._limits.attempts
        for run in lost:
            outcome = RunOutcome.REFUSED if is_last else RunOutcome.WORKER_LOST
            self._end_run(replace(run, outcome=outcome, note=f"its worker was lost {times(losses)}"))
        if lost and is_last:
            return True
        if not self._has_quota(job):
            return False
        run = AgentRun(str(uuid.uuid4()), job, target.key, self._program, self.id, self._machine)
        self._patient(lambda: records.start(run))
        self._say(f"{job}: started ({run.run})")
        done, quota_until = self._attempt(run, target)
        self._end_run(done)
        if quota_until is not None:
            self._patient(lambda: records.wait_for_quota(self._program, quota_until))
        return done.outcome not in REOPENED or not self._stop.is_set()

    def _attempt(self, run: AgentRun, target: Target) -> tuple[AgentRun, float | None]:
        """Run an agent and return its completed record."""
        fleet = self._fleet
        environment = fleet.environment_of(run.run)
        try:
            require_approved(self._project, environment.state)
            runs = self._patient(lambda: conversations(fleet.records, target.key))
            taken = self._patient(lambda: attempt.take(environment, target, runs=runs))
            return attempt.run(
                environment,
                taken,
                self._limits,
                run,
                folder=self._project,
                files=os.path.join(fleet.folder, "logs"),
                environ=environment.environ,
                stop=self._stop,
                patient=self._patient,
            )
        except FlowError as error:
            newest = self._patient(lambda: fleet.records.runs(target.key, newest=1))
            replaced = isinstance(error, DispatchGoneError) and newest[-1].run != run.run
            outcome = RunOutcome.FENCED if replaced else RunOutcome.REFUSED
            return replace(run, outcome=outcome, note=one_line(error.message)), None
        except Exception as error:  # noqa: BLE001 - a bug: without a record, the job would be forgotten
            note = one_line(f"{type(error).__name__}: {error}")
            return replace(run, outcome=RunOutcome.REFUSED, note=note), None

    def _has_quota(self, job: str) -> bool:
        """Wait until the program has a quota; return `False` if the worker stops first."""
        said = False
        while not self._stop.is_set():
            until = self._patient(lambda: self._fleet.records.quota_until(self._program))
            if until is None:
                return True
            if not said:
                self._say(
                    f"{job}: waits until {iso_time(until)}, because the quota of {self._program} is used up"
                )
                said = True
            self._stop.wait(BEAT_SECONDS)
        return False

    def _end_run(self, run: AgentRun) -> None:
        """Record that a run ends now."""
        self._patient(lambda: self._fleet.records.end(run))
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
