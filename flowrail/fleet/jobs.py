"""The queue of jobs. DBOS stores it, starts jobs within the limits of their pools, and starts them again on request.

A job is a workflow of DBOS with one run of an agent in it. The result of a job is recorded elsewhere, so DBOS
stores only that the job has ended.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from contextlib import suppress

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions, error

from flowrail.fleet.pool import Pool
from flowrail.fleet.records import database_errors

_APPLICATION, _VERSION, _WORKFLOW = "flowrail-fleet", "1", "job"
_POLL_SECONDS = 0.5

RunJob = Callable[[str, str, bool], None]
"""Runs the job with an id for the target with a key. The last argument decides whether it gets its own git worktree."""


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

    def enqueue(
        self, job: str, target: str, pool: str, *, delay: float = 0.0, worktree: bool = False
    ) -> None:
        """Add a job for *target*, to be started after *delay* seconds.

        Nothing happens if there was a job with that id, or if another one for the target has not ended.
        """
        options: EnqueueOptions = {
            "workflow_name": _WORKFLOW,
            "queue_name": _queue(pool),
            "workflow_id": job,
            "deduplication_id": target,
        }
        if delay:
            options["delay_seconds"] = delay
        with database_errors(), suppress(error.DBOSQueueDeduplicatedError):
            self._client.enqueue(options, job, target, worktree)

    def unfinished(self, pool: str) -> int:
        """Return how many jobs of a pool have not ended."""
        return len(self._workers_of_jobs(pool, "ENQUEUED", "DELAYED", "PENDING"))

    def resume(self, pool: str, *, only_worker: str = "", except_workers: Collection[str] = ()) -> list[str]:
        """Put jobs that have started back into the queue of their pool, and return their ids.

        With *only_worker*, only its jobs; otherwise those of all workers but *except_workers*. The name of the queue
        keeps the limits of the pool: without it, DBOS would start the jobs at once.
        """
        started = self._workers_of_jobs(pool, "PENDING")
        jobs = [
            job
            for job, worker in started.items()
            if (worker == only_worker if only_worker else worker not in except_workers)
        ]
        with database_errors():
            for job in jobs:
                self._client.resume_workflow(job, queue_name=_queue(pool))
        return jobs

    def _workers_of_jobs(self, pool: str, *statuses: str) -> dict[str, str | None]:
        """Return the ids of the jobs of a pool with these statuses, each with the worker that has it or had it."""
        with database_errors():
            workflows = self._client.list_workflows(
                queue_name=_queue(pool), status=[*statuses], load_input=False, load_output=False
            )
        return {workflow.workflow_id: workflow.executor_id for workflow in workflows}

    def close(self) -> None:
        """Close all connections."""
        self._client.destroy()

    def listen(self, pool: Pool, worker: str, run_job: RunJob) -> None:
        """Start the jobs of *pool* in this process from now on, as many at the same time as it has slots."""
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
        def job(job_id: str, target: str, worktree: bool) -> None:
            run_job(job_id, target, worktree)

        self._client.register_queue(
            _queue(pool.name),
            worker_concurrency=pool.slots,
            global_concurrency=pool.most_running,
            polling_interval_sec=_POLL_SECONDS,
            on_conflict="always_update",
        )
        DBOS.listen_queues([_queue(pool.name)])
        DBOS.launch()

    @staticmethod
    def stop_listening() -> None:
        """Start no more jobs in this process."""
        with suppress(error.DBOSException):
            DBOS.destroy()


def _queue(pool: str) -> str:
    return f"flow-{pool}"
