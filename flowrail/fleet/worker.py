"""A worker: runs the jobs of a program, sends heartbeats, and puts the jobs of lost workers back into the queue."""

from __future__ import annotations

import os
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from flowrail.discovery.git_root import find_project_root
from flowrail.errors import ConflictError, FlowError, StorageError
from flowrail.fleet import targets
from flowrail.fleet.agent_run import ATTEMPTS, AgentRun, RunOutcome, new_conversation, run_agent, take
from flowrail.fleet.fleet import Fleet
from flowrail.fleet.folders import require_approved
from flowrail.fleet.job_records import WorkerRecord
from flowrail.machines.agents import DispatchGoneError
from flowrail.storage.configuration import FleetLimits
from flowrail.text.phrases import count, this_moment, times
from flowrail.text.safe_text import one_line

BEAT_SECONDS = 1.0
LOST_SECONDS = 60.0
"""A worker without a heartbeat for so long is lost."""
_PATIENCE_SECONDS = 600.0
_LONGEST_PAUSE = 3600.0
_PATIENT_STOP = 1.0

T = TypeVar("T")


class Worker:
    """A process that runs agents of *program* in the project folder of the fleet's environment.

    *say* gets a line for each run. After `run` has returned, its threads may still wait: the process must end.
    """

    def __init__(
        self,
        fleet: Fleet,
        program: str,
        limits: FleetLimits,
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
        self._heard_at = self._stopped_at = time.monotonic()

    def stop(self) -> None:
        """Kill the agents and put their jobs back into the queue. If that takes longer and is asked again, end at once.

        Some programs send a signal twice.
        """
        if self._stop.is_set() and time.monotonic() - self._stopped_at > _PATIENT_STOP:
            os._exit(1)
        if not self._stop.is_set():
            self._stopped_at = time.monotonic()
            self._stop.set()

    def run(self) -> None:
        """Run jobs until `stop` is called; `WORKER_REPLACED` if other workers took over its jobs."""
        fleet, program, slots = self._fleet, self._program, self._limits.slots
        fleet.records.add_worker(WorkerRecord(self.id, program, self._machine, os.getpid(), slots))
        fleet.jobs.listen(program, self.id, slots, self._run_job)
        is_away = False
        while not self._stop.is_set():
            try:
                if not fleet.records.beat(self.id):
                    self._stop.set()
                    raise ConflictError(
                        "this worker was silent for too long, so other workers took over its jobs",
                        code="WORKER_REPLACED",
                        hint="start it again",
                        worker=self.id,
                    )
                self._manage()
                if is_away:
                    is_away = False
                    self._say("the database answers again")
            except StorageError as error:
                if not is_away:
                    is_away = True
                    self._say(f"waiting for the database: {error.message}")
            self._stop.wait(BEAT_SECONDS)
        fleet.jobs.stop_listening()
        fleet.jobs.put_back(self.id, is_lost=False)
        fleet.records.end_worker(self.id)

    def _manage(self) -> None:
        """Take over the jobs of lost workers. The oldest worker of the program adds new jobs."""
        fleet = self._fleet
        last_beat, self._heard_at = self._heard_at, time.monotonic()
        if (
            self._heard_at - last_beat < self._lost_seconds / 2
        ):  # otherwise, others could not send heartbeats either
            with fleet.records.lost_workers(self._lost_seconds) as lost:
                for worker in lost:
                    jobs = fleet.jobs.put_back(worker.id, is_lost=True)
                    queued = f"; queued again: {', '.join(jobs)}" if jobs else ""
                    self._say(f"{worker.id} on {worker.machine} is lost{queued}")
        oldest = next(worker for worker in fleet.records.workers() if worker.program == self._program)
        if oldest.id == self.id:
            fleet.schedule(self._program)

    def _run_job(self, job: str) -> None:
        """Run agents for the target of a job until one has a result, or until all attempts have failed.

        On another worker the job repeats this; runs and pauses that are over are then not repeated.
        """
        target = job.rpartition("#")[0]
        failures = 0
        while True:
            run = self._fleet.jobs.run_once(self._run_target, job)
            if run.outcome is RunOutcome.QUOTA:
                self._fleet.jobs.pause(max(0.0, (run.quota_until or 0.0) - time.time()))
            elif run.outcome not in ATTEMPTS:
                return
            else:
                failures += 1
                if failures == self._limits.attempts:
                    reason = f"{count(failures, 'attempt')} failed; the last one: {run.outcome}"
                    self._give_up(target, f"{reason} ({run.note})" if run.note else reason)
                    return
                self._fleet.jobs.pause(min(_LONGEST_PAUSE, self._limits.retry_seconds * 2 ** (failures - 1)))

    def _give_up(self, target: str, reason: str) -> None:
        try:
            self._patient(lambda: self._fleet.give_up(target, reason))
        except FlowError as error:
            self._say(f"{target} could not be ended: {error.message}")

    def _run_target(self, job: str) -> AgentRun:
        """Run an agent for the target of a job. This never returns if another worker repeats the run."""
        run = AgentRun(new_conversation(), self._machine, this_moment())
        self._say(f"{job}: started ({run.run})")
        try:
            run = self._attempt(job, run)
        except DispatchGoneError as error:
            run = replace(run, outcome=RunOutcome.REPLACED, note=one_line(error.message))
        except FlowError as error:
            run = replace(run, outcome=RunOutcome.REFUSED, note=one_line(error.message))
        except Exception as error:  # noqa: BLE001 - a bug: it counts as an attempt, so it is seen and ends
            note = one_line(f"{type(error).__name__}: {error}")
            run = replace(run, outcome=RunOutcome.REFUSED, note=note)
        while self._stop.is_set() or not self._patient(lambda: self._fleet.records.beat(self.id)):
            time.sleep(BEAT_SECONDS)  # until the process ends
        self._say(f"{job}: {run.outcome}{f' ({run.note})' if run.note else ''}")
        return replace(run, ended_at=this_moment())

    def _attempt(self, job: str, run: AgentRun) -> AgentRun:
        fleet, target = self._fleet, job.rpartition("#")[0]
        losses = self._patient(lambda: fleet.jobs.losses(job))
        if losses > self._limits.attempts:
            return replace(run, note=f"its worker was lost {times(losses)}")
        environment = fleet.environment_of(run.run)
        require_approved(self._project, environment.state)
        if not self._patient(lambda: targets.is_ready(environment, target)):
            raise DispatchGoneError(f"`{target}` needs no agent now", hint="nothing is left to do")
        return run_agent(
            environment,
            self._patient(lambda: take(environment, target)),
            run,
            program=self._program,
            limits=self._limits,
            folder=self._project,
            files=os.path.join(fleet.folder, "logs"),
            stop=self._stop,
            patient=self._patient,
        )

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
