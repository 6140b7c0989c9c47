"""What a fleet is doing: programs, workers, sessions and the newest runs."""

from __future__ import annotations

from dataclasses import dataclass

from flowrail.errors import FlowError
from flowrail.fleet import targets
from flowrail.fleet.fleet import Fleet
from flowrail.fleet.records import AgentRun, FleetSession, WorkerRecord
from flowrail.operations.environment import Environment
from flowrail.text.phrases import count, duration, iso_time, seconds_between
from flowrail.text.report import Moment, Part, Report, Span, Style, Table, columns, paragraphs


@dataclass(frozen=True)
class ProgramStatus:
    """The queue and the workers of a program."""

    program: str
    queued: int
    running: int
    slots: int
    quota_until: str | None
    """When its used-up quota is available again."""


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

    programs: tuple[ProgramStatus, ...] = ()
    workers: tuple[WorkerRecord, ...] = ()
    sessions: tuple[SessionStatus, ...] = ()
    runs: tuple[AgentRun, ...] = ()

    def report(self) -> Report:
        """Return the status as tables."""
        if not self.programs:
            return [
                "no fleet here; start a session with `flow fleet run`, and a worker with `flow fleet worker`"
            ]
        programs: list[list[Part]] = [
            [
                known.program,
                f"{known.running} of {count(known.slots, 'slot')}",
                str(known.queued),
                Span(f"quota used up until {known.quota_until}", Style.WARNING) if known.quota_until else "",
            ]
            for known in self.programs
        ]
        workers: list[list[Part]] = [
            [worker.id, worker.program, worker.machine, str(worker.slots), Moment(worker.seen_at)]
            for worker in self.workers
        ]
        sessions: list[list[Part]] = [
            [known.session, known.program, known.state, known.detail] for known in self.sessions
        ]
        runs: list[list[Part]] = [
            [
                run.job,
                run.outcome,
                Moment(run.started_at),
                duration(seconds_between(run.started_at, run.ended_at) or 0.0) if run.ended_at else "",
                "" if run.cost is None else f"${run.cost:.2f}",
                run.machine,
                run.note,
            ]
            for run in reversed(self.runs)
        ]
        tables = [
            Table(columns("program", "at work", "queued", "", wraps=("",)), programs),
            Table(columns("worker", "program", "machine", "slots", "last sign of life"), workers),
            Table(columns("session", "program", "state", "", wraps=("",)), sessions),
            Table(
                columns("run of", "outcome", "started", "took", "cost", "machine", "note", wraps=("note",)),
                runs,
            ),
        ]
        return paragraphs(*([table] for table in tables if table.rows))


def status_of(fleet: Fleet, *, newest: int) -> FleetStatus:
    """Return what the fleet is doing now, and its *newest* runs."""
    records, environment = fleet.records, fleet.environment
    workers, known, running = records.workers(), records.sessions(newest_ended=newest), records.running()
    programs = []
    for name in sorted({session.program for session in known} | {worker.program for worker in workers}):
        at_work = sum(run.program == name for run in running)
        programs.append(
            ProgramStatus(
                name,
                max(0, fleet.jobs.unfinished(name) - at_work),
                at_work,
                sum(worker.slots for worker in workers if worker.program == name),
                iso_time(until) if (until := records.quota_until(name)) else None,
            )
        )
    targets_at_work = {run.target for run in running}
    sessions = tuple(_session(environment, session, targets_at_work) for session in known)
    return FleetStatus(tuple(programs), tuple(workers), sessions, tuple(records.runs(newest=newest)))


def _session(environment: Environment, fleet_session: FleetSession, at_work: set[str]) -> SessionStatus:
    session_id, program = fleet_session.session, fleet_session.program
    if fleet_session.problem:
        return SessionStatus(session_id, program, "given up", fleet_session.problem)
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
    is_running = any(member.id in at_work for member in involved)
    return SessionStatus(session_id, program, "running" if is_running else "queued", f"step {session.step}")
