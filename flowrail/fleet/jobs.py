"""The queue of jobs. DBOS stores it, starts jobs within the slots of their workers, and starts them again on request.

A job is a workflow of DBOS with one run of an agent in it. The result of a job is recorded elsewhere, so DBOS
stores only that the job has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions, error

from flowrail.fleet.records import database_errors

_APPLICATION, _VERSION, _WORKFLOW = "flowrail-fleet", "1", "job"
_POLL_SECONDS = 0.5

RunJob = Callable[[str, str], None]
"""Runs the job with an id for the target with a key."""


class JobQueue:
    """The jobs in the database at *url*. Its tables are created if they do not exist.

    If the database does not answer, methods raise `FleetDatabaseError`. DBOS would wait for it, up to a minute longer
    than it is away: long enough for a worker to be lost.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        logging.getLogger("dbos").setLevel(logging.CRITICAL)  # it warns about other databases of the server
        with database_errors():
            DBOS.migrate(url)
            self._client = DBOSClient(
                system_database_url=url,
                serializer=DBOSPortableJSONSerializer(),
                application_name=_APPLICATION,
                retry_connection_errors=False,
            )

    def enqueue(self, job: str, target: str, program: str, *, delay: float = 0.0) -> None:
        """Add a job for *target*, to be started after *delay* seconds.

        Nothing happens if there was a job with that id, or if another one for the target has not ended.
        """
        options: EnqueueOptions = {
            "workflow_name": _WORKFLOW,
            "queue_name": _queue(program),
            "workflow_id": job,
            "deduplication_id": target,
        }
        if delay:
            options["delay_seconds"] = delay
        with database_errors(), suppress(error.DBOSQueueDeduplicatedError):
            self._client.enqueue(options, job, target)

    def unfinished(self, program: str) -> int:
        """Return how many jobs of a program have not ended."""
        return len(self._workers_of_jobs(program, "ENQUEUED", "DELAYED", "PENDING"))

    def resume(
        self, program: str, *, only_worker: str = "", except_workers: Collection[str] = ()
    ) -> list[str]:
        """Put jobs that have started back into the queue of their program, and return their ids.

        With *only_worker*, only its jobs; otherwise those of all workers but *except_workers*. The name of the queue
        keeps the number of slots: without it, DBOS would start the jobs at once.
        """
        started = self._workers_of_jobs(program, "PENDING")
        jobs = [
            job
            for job, worker in started.items()
            if (worker == only_worker if only_worker else worker not in except_workers)
        ]
        with database_errors():
            for job in jobs:
                self._client.resume_workflow(job, queue_name=_queue(program))
        return jobs

    def _workers_of_jobs(self, program: str, *statuses: str) -> dict[str, str | None]:
        """Return the ids of the jobs of a program with these statuses, each with the worker that has it or had it."""
        with database_errors():
            workflows = self._client.list_workflows(
                queue_name=_queue(program), status=[*statuses], load_input=False, load_output=False
            )
        return {workflow.workflow_id: workflow.executor_id for workflow in workflows}

    def close(self) -> None:
        """Close all connections."""
        self._client.destroy()

    def listen(self, program: str, worker: str, slots: int, run_job: RunJob) -> None:
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

        @DBOS.workflow(name=_WORKFLOW)
        def job(job_id: str, target: str) -> None:
            run_job(job_id, target)

        self._client.register_queue(
            _queue(program),
            worker_concurrency=slots,
            polling_interval_sec=_POLL_SECONDS,
            on_conflict="always_update",
        )
        DBOS.listen_queues([_queue(program)])
        DBOS.launch()

    @staticmethod
    def stop_listening() -> None:
        """Start no more jobs in this process."""
        with suppress(error.DBOSException):
            DBOS.destroy()


def _queue(program: str) -> str:
    return f"flow-{program}"
