"""What a fleet is doing: workers, sessions, and the newest jobs with the runs of their agents."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from flowrail.errors import FlowError
from flowrail.fleet import targets
from flowrail.fleet.fleet import Fleet
from flowrail.fleet.jobs import Job
from flowrail.fleet.records import FleetSession, WorkerRecord
from flowrail.operations.environment import Environment
from flowrail.text.phrases import count, duration, seconds_between
from flowrail.text.report import Moment, Part, Report, Table, columns, paragraphs


@dataclass(frozen=True)
class SessionStatus:
    """A session that the fleet runs."""

    session: str
    program: str
    state: str
    """`running`, `queued`, `needs you`, `given up`, `unreadable`, or its status at its end."""
    detail: str = ""


@dataclass(frozen=True)
class FleetStatus:
    """Everything that the fleet is doing."""

    workers: tuple[WorkerRecord, ...] = ()
    sessions: tuple[SessionStatus, ...] = ()
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
            [known.session, known.program, known.state, known.detail] for known in self.sessions
        ]
        runs: list[list[Part]] = [
            [
                job.id,
                run.outcome,
                Moment(run.started_at),
                duration(seconds_between(run.started_at, run.ended_at) or 0.0),
                "" if run.cost is None else f"${run.cost:.2f}",
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
                columns("run of", "outcome", "started", "took", "cost", "machine", "note", wraps=("note",)),
                runs,
            ),
        ]
        return paragraphs(*([table] for table in tables if table.rows))


def status_of(fleet: Fleet, *, newest: int) -> FleetStatus:
    """Return what the fleet is doing now, with the jobs that have not ended and its *newest* ones."""
    jobs = {job.id: job for job in (*fleet.jobs.unfinished(), *reversed(fleet.jobs.newest(newest)))}
    working = {job.target for job in jobs.values() if job.state == "running"}
    known = fleet.records.sessions(newest_ended=newest)
    sessions = tuple(_session(fleet.environment, session, working) for session in known)
    return FleetStatus(tuple(fleet.records.workers()), sessions, tuple(jobs.values()))


def _session(environment: Environment, known: FleetSession, working: Collection[str]) -> SessionStatus:
    session_id, program = known.session, known.program
    if known.problem:
        return SessionStatus(session_id, program, "given up", known.problem)
    try:
        session = targets.current(environment, session_id)
        if not session.is_open:
            return SessionStatus(session_id, program, session.status)
        involved = [member for _, member in targets.involved(environment, session_id)]
    except FlowError as error:
        return SessionStatus(session_id, program, "unreadable", error.message)
    for member in involved:
        question = targets.open_question(member)
        if question is not None:
            return SessionStatus(session_id, program, "needs you", f"{member.id}: {question.text}")
    is_running = any(target.key in working for target, _ in targets.involved(environment, session_id))
    return SessionStatus(session_id, program, "running" if is_running else "queued", f"step {session.step}")
