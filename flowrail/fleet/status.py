"""What a fleet is doing: workers, sessions, and the newest jobs with the runs of their agents."""

from __future__ import annotations

from dataclasses import dataclass

from flowrail.fleet.fleet import Fleet
from flowrail.fleet.job_records import FleetSession, WorkerRecord
from flowrail.fleet.jobs import Job
from flowrail.text.phrases import count, duration, seconds_between
from flowrail.text.report import Moment, Part, Report, Table, columns, paragraphs


@dataclass(frozen=True)
class FleetStatus:
    """Everything that the fleet is doing."""

    workers: tuple[WorkerRecord, ...] = ()
    sessions: tuple[FleetSession, ...] = ()
    """The sessions that workers run, and the newest that have ended. `flow sessions` shows how far they are."""
    jobs: tuple[Job, ...] = ()
    """The newest jobs, oldest first."""

    def report(self) -> Report:
        """Return the status as tables."""
        if not self.workers and not self.sessions:
            return [
                "no fleet here; start a session with `flow fleet run`, and a worker with `flow fleet worker`"
            ]
        at_work = [job.worker for job in self.jobs if job.state == "running"]
        workers: list[list[Part]] = [
            [
                worker.id,
                worker.program,
                f"{at_work.count(worker.id)} of {count(worker.slots, 'slot')}",
                worker.machine,
                Moment(worker.seen_at),
            ]
            for worker in self.workers
        ]
        sessions: list[list[Part]] = [
            [
                known.session,
                known.program,
                "open" if known.open else "given up" if known.problem else "ended",
                known.problem,
            ]
            for known in self.sessions
        ]
        runs: list[list[Part]] = [
            [
                job.id,
                run.outcome,
                Moment(run.started_at),
                duration(seconds_between(run.started_at, run.ended_at) or 0.0),
                run.machine,
                run.note,
            ]
            for job in reversed(self.jobs)
            for run in reversed(job.runs)
        ]
        waiting: list[list[Part]] = [
            [job.id, job.program, job.state, job.worker or ""] for job in self.jobs if job.state != "ended"
        ]
        tables = [
            Table(columns("worker", "program", "at work", "machine", "last sign of life"), workers),
            Table(columns("session", "program", "state", "", wraps=("",)), sessions),
            Table(columns("job", "program", "state", "worker"), waiting),
            Table(
                columns("run of", "outcome", "started", "took", "machine", "note", wraps=("note",)),
                runs,
            ),
        ]
        return paragraphs(*([table] for table in tables if table.rows))


def status_of(fleet: Fleet, *, newest: int) -> FleetStatus:
    """Return what the fleet is doing now, with the jobs that have not ended and its *newest* ones."""
    jobs = {job.id: job for job in (*fleet.jobs.unfinished(), *reversed(fleet.jobs.newest(newest)))}
    known = fleet.records.sessions(newest_ended=newest)
    return FleetStatus(tuple(fleet.records.workers()), tuple(known), tuple(jobs.values()))
