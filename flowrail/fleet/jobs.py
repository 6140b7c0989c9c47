"""The queue of jobs. DBOS stores it, starts jobs within the limits of their pools, and starts them again on request.

A job is a workflow of DBOS with one run of an agent in it. What a job did is recorded elsewhere, so DBOS keeps no more
of it than that it has ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import suppress

from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer, EnqueueOptions, error

from flowrail.fleet.pool import Pool

_APPLICATION, _VERSION, _WORKFLOW = "flowrail-fleet", "1", "job"
_POLL_SECONDS = 0.5

RunJob = Callable[[str, str, bool], None]
"""Does the job with an id for the target with a key, in a git worktree of its own if the last argument says so."""


class JobQueue:
    """The jobs in the database at *url*. Its tables are created if they do not exist."""

    def __init__(self, url: str) -> None:
        self._url = url
        DBOS.migrate(url)
        self._client = DBOSClient(
            system_database_url=url, serializer=DBOSPortableJSONSerializer(), application_name=_APPLICATION
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
        with suppress(error.DBOSQueueDeduplicatedError):
            self._client.enqueue(options, job, target, worktree)

    def queued(self, pool: str) -> int:
        """Return how many jobs of a pool have not been started."""
        waiting = self._client.list_workflows(
            queue_name=_queue(pool), status=["ENQUEUED", "DELAYED"], load_input=False, load_output=False
        )
        return len(waiting)

    def resume(self, pool: str, *, of: str = "", unless_of: Collection[str] = ()) -> list[str]:
        """Put jobs that have started back into the queue of their pool, and return their ids.

        Those *of* one worker, or those of all workers but *unless_of*. The name of the queue keeps the limits of the
        pool: without it, DBOS would start the jobs at once.
        """
        started = self._client.list_workflows(
            status="PENDING", queue_name=_queue(pool), load_input=False, load_output=False
        )
        jobs = [
            workflow.workflow_id
            for workflow in started
            if (workflow.executor_id == of if of else workflow.executor_id not in unless_of)
        ]
        for job in jobs:
            self._client.resume_workflow(job, queue_name=_queue(pool))
        return jobs

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
