"""What a fleet is doing: pools, workers, sessions and the newest runs."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.errors import FlowError
from flowrail.fleet import targets
from flowrail.fleet.jobs import JobQueue
from flowrail.fleet.records import AgentRun, FleetRecords, FleetSession, PoolState, Start, WorkerRecord
from flowrail.operations.environment import World


class PoolStatus(NamedTuple):
    """A pool: its queue, its workers, and what its runs cost in the last 24 hours, reservations included."""

    name: str
    queued: int
    running: int
    workers: int
    slots: int
    spent: float
    paused: PoolState | None


class SessionStatus(NamedTuple):
    """A session that the fleet runs, and what it does: `running`, `queued`, `needs you`, its end, or a problem."""

    session: str
    pool: str
    state: str
    detail: str = ""


class FleetStatus(NamedTuple):
    """Everything that `flow fleet status` shows. ``at`` is the time on the clock of the database."""

    at: float
    pools: tuple[PoolStatus, ...]
    workers: tuple[WorkerRecord, ...]
    sessions: tuple[SessionStatus, ...]
    running: tuple[Start, ...]
    runs: tuple[AgentRun, ...]


def status_of(records: FleetRecords, jobs: JobQueue, world: World, *, newest: int) -> FleetStatus:
    """Return what the fleet is doing now, and the records of its *newest* runs."""
    workers, fleet_sessions, running = (
        records.workers(),
        records.sessions(newest_ended=newest),
        records.running(),
    )
    paused = {state.pool: state for state in records.paused()}
    names = sorted(
        {session.pool for session in fleet_sessions} | {worker.pool for worker in workers} | set(paused)
    )
    at_work_in = {name: sum(start.pool == name for start in running) for name in names}
    pools = tuple(
        PoolStatus(
            name,
            max(0, jobs.unfinished(name) - at_work_in[name]),
            at_work_in[name],
            sum(worker.pool == name for worker in workers),
            sum(worker.slots for worker in workers if worker.pool == name),
            records.spent(name),
            paused.get(name),
        )
        for name in names
    )
    at_work = {targets.target_of(start.target).session for start in running}
    sessions = tuple(_session(world, session, at_work) for session in fleet_sessions)
    return FleetStatus(
        records.now(), pools, tuple(workers), sessions, tuple(running), tuple(records.runs(newest=newest))
    )


def _session(world: World, fleet_session: FleetSession, at_work: set[str]) -> SessionStatus:
    if fleet_session.problem:
        return SessionStatus(fleet_session.session, fleet_session.pool, "given up", fleet_session.problem)
    try:
        session = targets.current(world, fleet_session.session)
        if not session.is_open:
            return SessionStatus(fleet_session.session, fleet_session.pool, session.status)
        involved = [member for _, member in targets.involved(world, fleet_session.session)]
    except FlowError as error:
        return SessionStatus(fleet_session.session, fleet_session.pool, "unreadable", error.message)
    asking = ((member, targets.open_question(member)) for member in involved)
    waiting = next(((member, question) for member, question in asking if question is not None), None)
    if waiting is not None:
        member, question = waiting
        return SessionStatus(
            fleet_session.session, fleet_session.pool, "needs you", f"{member.id}: {question.text}"
        )
    is_running = any(member.id in at_work for member in involved)
    state = "running" if is_running else "queued"
    return SessionStatus(fleet_session.session, fleet_session.pool, state, f"step {session.step}")
