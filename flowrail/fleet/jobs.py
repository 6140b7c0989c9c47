"""The queue of jobs on DBOS. A job is a durable workflow that runs agents for a target until it has a result.

DBOS stores the queue, starts jobs within the slots of their workers, and keeps the result of each run, so that a job
whose worker is lost continues after its last complete run.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, WorkflowStatus, error

from flowrail.fleet.agent_run import AgentRun
from flowrail.storage.converter import from_plain, to_plain
from flowrail.storage.database import Database

_APPLICATION, _VERSION, _JOB, _RUN = "flowrail-fleet", "1", "job", "run"
_UNFINISHED = ("ENQUEUED", "DELAYED", "PENDING")
_LOSSES = "workers_lost"
_POLL_SECONDS = 0.5


@dataclass(frozen=True)
class Job:
    """A job of the queue."""

    id: str
    target: str
    """The session or the piece of work that it does."""
    program: str
    worker: str | None
    """The worker that runs it, or ran it at its end."""
    state: str
    """`queued`, `running` or `ended`."""
    workers_lost: int
    """How many workers were lost while they ran it."""
    runs: tuple[AgentRun, ...]
    """Its complete runs, oldest first."""


class JobQueue:
    """The jobs in the database at *url*. Its tables are created if they do not exist.

    If the database does not answer, methods raise `StorageError`. DBOS would wait for it, up to a minute longer
    than it is away: long enough for a worker to be lost.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._errors = Database(url).errors
        logging.getLogger("dbos").setLevel(logging.CRITICAL)  # it warns about other databases of the server
        with self._errors():
            DBOS.migrate(url)
            self._client = DBOSClient(
                system_database_url=url,
                serializer=DBOSPortableJSONSerializer(),
                application_name=_APPLICATION,
                retry_connection_errors=False,
            )

    def enqueue(self, target: str, program: str) -> None:
        """Add a job for *target*, which has no unfinished one. If two callers do this at once, there is one job."""
        with self._errors():
            earlier = self._client.list_workflows(workflow_id_prefix=f"{target}#", load_output=False)
            job = f"{target}#{len(earlier) + 1}"
            self._client.enqueue(
                {"workflow_name": _JOB, "queue_name": _queue(program), "workflow_id": job}, job
            )

    def unfinished(self) -> list[Job]:
        """Return the jobs that have not ended, oldest first."""
        return self._jobs(status=[*_UNFINISHED])

    def newest(self, most: int) -> list[Job]:
        """Return the newest jobs with their runs, newest first."""
        return self._jobs(limit=most, sort_desc=True, runs=True)

    def losses(self, job: str) -> int:
        """Return how many workers were lost while they ran a job."""
        (known,) = self._jobs(workflow_ids=[job])
        return known.workers_lost

    def put_back(self, worker: str, *, is_lost: bool) -> list[str]:
        """Put the jobs that *worker* runs back into the queue, and return their ids."""
        jobs = self._jobs(status=["PENDING"], executor_id=worker)
        with self._errors():
            for job in jobs:
                if is_lost:
                    self._client.update_workflow_attributes(job.id, {_LOSSES: job.workers_lost + 1})
                self._client.resume_workflow(job.id, queue_name=_queue(job.program))
        return [job.id for job in jobs]

    def close(self) -> None:
        """Close all connections."""
        self._client.destroy()

    def listen(self, program: str, worker: str, slots: int, run_job: Callable[[str], None]) -> None:
        """Start the jobs of *program* in this process from now on, at most *slots* at the same time."""
        DBOS(
            config={
                "name": _APPLICATION,
                "system_database_url": self._url,
                "serializer": DBOSPortableJSONSerializer(),
                "application_version": _VERSION,
                "executor_id": worker,
                "log_level": "CRITICAL",
            }
        )

        @DBOS.workflow(name=_JOB)
        def job(job_id: str) -> None:
            run_job(job_id)

        self._client.register_queue(
            _queue(program),
            worker_concurrency=slots,
            polling_interval_sec=_POLL_SECONDS,
            on_conflict="always_update",
        )
        DBOS.listen_queues([_queue(program)])
        DBOS.launch()

    @staticmethod
    def run_once(run: Callable[[str], AgentRun], job: str) -> AgentRun:
        """Do the next run of a job, or return its result if a lost worker has recorded it. Only a job calls this."""
        return from_plain(DBOS.run_step({"name": _RUN}, lambda: to_plain(run(job))), AgentRun)

    @staticmethod
    def pause(seconds: float) -> None:
        """Pause a job for so long in total, on whichever workers it runs. Only a job calls this."""
        DBOS.sleep(seconds)

    @staticmethod
    def stop_listening() -> None:
        """Start no more jobs in this process."""
        with suppress(error.DBOSException):
            DBOS.destroy()

    def _jobs(self, *, runs: bool = False, **query: Any) -> list[Job]:
        with self._errors():
            known = self._client.list_workflows(name=_JOB, load_input=False, load_output=False, **query)
            return [self._job(workflow, runs) for workflow in known]

    def _job(self, workflow: WorkflowStatus, runs: bool) -> Job:
        steps = self._client.list_workflow_steps(workflow.workflow_id) if runs else ()
        return Job(
            workflow.workflow_id,
            workflow.workflow_id.rpartition("#")[0],
            str(workflow.queue_name).removeprefix(_queue("")),
            workflow.executor_id,
            "running"
            if workflow.status == "PENDING"
            else "queued"
            if workflow.status in _UNFINISHED
            else "ended",
            int((workflow.attributes or {}).get(_LOSSES, 0)),
            tuple(from_plain(step["output"], AgentRun) for step in steps if step["function_name"] == _RUN),
        )


def _queue(program: str) -> str:
    return f"flow-{program}"
