"""`flow fleet`: run sessions with headless agents."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from contextlib import closing

import click

from flowrail import approval
from flowrail.cli import options, output
from flowrail.cli.environment import OwnCall
from flowrail.cli.options import Call
from flowrail.command import Command, Hint
from flowrail.errors import FlowError, UsageError
from flowrail.fleet import folders, programs
from flowrail.fleet.fleet import Fleet, has_fleet
from flowrail.fleet.pool import check_name
from flowrail.fleet.status import FleetStatus
from flowrail.fleet.worker import Worker
from flowrail.storage.records import to_plain
from flowrail.text.phrases import count, duration, iso_time
from flowrail.text.report import Moment, Part, Report, Span, Style, Table, columns, paragraphs
from flowrail.text.safe_text import one_line

_POOL = click.option(
    "--pool",
    default="claude",
    show_default=True,
    metavar="NAME",
    help="The pool: claude, codex, or one from your configuration.",
)


class FleetCall(OwnCall):
    """A call of a command about the fleet."""

    def fleet(self) -> closing[Fleet]:
        """Return the fleet of the store, to be closed."""
        return closing(Fleet(self.environment))


@FleetCall.command("worker", "flow fleet worker --pool claude", "flow fleet worker --pool codex --slots 4")
@_POOL
@click.option(
    "--slots",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="How many agents each worker of the pool runs at once. The worker started last decides for all.",
)
@click.option(
    "--lost-after",
    type=click.FloatRange(min=1.0),
    default=60.0,
    show_default=True,
    metavar="SECONDS",
    help="Take over the jobs of a worker that has sent no heartbeat for this long.",
)
@options.store
def worker_command(call: FleetCall, pool: str, slots: int | None, lost_after: float) -> None:
    """Run headless agents for the sessions of a pool

    Runs in the project of the current folder until Ctrl+C, which kills its agents and puts their jobs back into the
    queue. The folder must be approved with `flow fleet trust`. Needs the extra flowrail[fleet].
    """
    environment = call.environment
    with call.fleet() as fleet:
        configured = fleet.pool(pool)
        chosen = configured if slots is None else configured._replace(slots=slots)
        folders.require_approved(environment.project, environment.state)
        if not programs.program_exists(chosen, environment.environ):
            word = chosen.command[0] if chosen.command else chosen.program
            raise UsageError(
                f"the program `{word}` is not installed", hint="install it, or configure a different one"
            )
        worker = Worker(
            fleet, chosen, say=lambda line: output.notes([one_line(line)]), lost_seconds=lost_after
        )

        def stop(*_: object) -> None:
            if worker.is_stopping:  # it waits for a database, and the user does not
                os._exit(1)
            worker.stop()

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, stop)
        output.notes(
            [f"{worker.id} runs up to {count(chosen.slots, 'agent')} of pool {pool}; press Ctrl+C to stop"]
        )
        status = 1
        try:
            worker.run()
            status = 0
        except FlowError as error:
            status = output.refuse(error, as_json=False)
        except Exception:  # noqa: BLE001 - a bug: shown here, because the process ends below
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)  # threads of the queue would keep the process alive


@FleetCall.command(
    "run",
    "flow fleet run problem-analysis -p topic='slow login'",
    "flow fleet run --session problem-analysis-k3x9q2",
)
@click.argument("skill", required=False, shell_complete=options.complete("skills"))
@options.params
@click.option("--session", "session_id", metavar="ID", help="Run an open session instead of a new one.")
@_POOL
@click.option(
    "--worktree", is_flag=True, help="Run each job in a git worktree of its own, on a branch flow/…."
)
@options.as_json
@options.store
@options.root
def run_command(
    call: FleetCall,
    skill: str | None,
    params: dict[str, str],
    session_id: str | None,
    pool: str,
    worktree: bool,
) -> None:
    """Start a session that the workers of a pool run

    Headless agents do its steps and the work that it dispatches, until it ends. Its questions appear in `flow watch` and
    `flow ui`; after an answer it continues. With --session, workers continue an open session; one that they gave up gets
    all its attempts again.
    """
    if (skill is None) == (session_id is None):
        raise UsageError("exactly one of SKILL and --session is needed", hint="give one of them")
    with call.fleet() as fleet:
        if skill is not None:
            session_id = fleet.start(skill, params, pool, worktree=worktree)
        else:
            fleet.run_session(str(session_id), pool, worktree=worktree)
        workers = sum(worker.pool == pool for worker in fleet.records.workers())
    call.answer(
        {"session": session_id, "pool": pool, "workers": workers}, f"{session_id} is queued in pool {pool}"
    )
    if not workers:
        output.notes([f"no worker runs in this pool; start one: {Command('fleet worker', pool=pool)}"])


@FleetCall.command("status", "flow fleet status", "flow fleet status --json --runs 1000")
@click.option(
    "--runs",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="N",
    help="How many records of runs to show, the newest.",
)
@options.as_json
@options.store
def status_command(call: FleetCall, runs: int) -> None:
    """Show pools, workers, sessions and the newest runs"""
    status = FleetStatus(time.time(), (), (), (), (), ())
    if has_fleet(call.environment):
        with call.fleet() as fleet:
            status = fleet.status(newest=runs)
    call.answer(_data(status), _report(status))


@FleetCall.command("pause", "flow fleet pause claude --reason 'release day'")
@click.argument("pool")
@options.reason
@options.as_json
@options.store
def pause_command(call: FleetCall, pool: str, reason: str) -> None:
    """Stop a pool from starting jobs

    Agents that are at work continue. `flow fleet resume` starts the pool again.
    """
    with call.fleet() as fleet:
        reason = reason or f"paused by {call.environment.by}"
        fleet.records.pause(check_name(pool), until=None, reason=reason)
    call.answer(
        {"pool": pool, "paused": True},
        f"pool {pool} is paused; start it again: {Command('fleet resume', pool)}",
    )


@FleetCall.command("resume", "flow fleet resume claude")
@click.argument("pool")
@options.as_json
@options.store
def resume_command(call: FleetCall, pool: str) -> None:
    """Let a paused pool start jobs again, even if it waits for its quota"""
    with call.fleet() as fleet:
        was_paused = fleet.records.unpause(pool)
    call.answer(
        {"pool": pool, "paused": False},
        f"pool {pool} {'starts jobs again' if was_paused else 'was not paused'}",
    )


@Call.command("trust", "flow fleet trust")
@click.option("--digest", metavar="HEX", help="Approve without asking if the folder has this digest.")
@options.as_json
def trust_command(call: Call, digest: str | None) -> None:
    """Approve the current project for headless agents

    Without a user, hosts run the hooks and MCP servers of a project's settings without asking. This shows these
    settings and asks at the terminal. If they change, workers refuse the folder until it is approved again.
    """
    environment = call.environment
    content = folders.content_of(environment.project)
    call.require_approval(
        "Let workers run agents in this folder as you, without asking?",
        folders.describe(environment.project),
        digest=content.digest,
        expected_digest=digest,
        hint=Hint("a person runs: ", Command("fleet trust")),
    )
    approval.approve(content, environment.state, at=environment.now)
    call.answer(
        {"folder": os.path.realpath(environment.project), "digest": content.digest, "allowed": True},
        "workers may run agents here",
    )


def _data(status: FleetStatus) -> dict[str, object]:
    """Return the status as plain data, with times in ISO 8601."""
    plain: dict[str, object] = to_plain(status)
    return {name: _with_times(value) for name, value in plain.items()}


def _with_times(value: object, name: str = "at") -> object:
    if isinstance(value, dict):
        return {key: _with_times(item, key) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_with_times(item, "") for item in value]
    is_time = isinstance(value, float) and (name in {"at", "until"} or name.endswith("_at"))
    return iso_time(value) if is_time and isinstance(value, float) else value


def _report(status: FleetStatus) -> Report:
    if not status.pools:
        return [
            "no fleet here; start a session with `flow fleet run SKILL`, and a worker with `flow fleet worker`"
        ]
    return paragraphs(_pools(status), _workers(status), _sessions(status), _runs(status))


def _pools(status: FleetStatus) -> Report:
    rows: list[list[Part]] = []
    for pool in status.pools:
        paused = pool.paused
        until = f" until {iso_time(paused.until)}" if paused is not None and paused.until is not None else ""
        note = Span(f"paused{until}: {paused.reason}", Style.WARNING) if paused is not None else ""
        slots = f"{pool.running} of {count(pool.slots, 'slot')}"
        rows.append([pool.name, slots, str(pool.queued), str(pool.workers), f"${pool.spent:.2f}", note])
    return [Table(columns("pool", "at work", "queued", "workers", "last 24 h", "", wraps=("",)), rows)]


def _workers(status: FleetStatus) -> Report:
    rows: list[list[Part]] = [
        [w.id, w.pool, w.machine, str(w.pid), str(w.slots), Moment(iso_time(w.seen_at))]
        for w in status.workers
    ]
    head = columns("worker", "pool", "machine", "pid", "slots", "last sign of life", optional=("pid",))
    return [Table(head, rows)] if rows else []


def _sessions(status: FleetStatus) -> Report:
    rows: list[list[Part]] = [
        [known.session, known.pool, known.state, known.detail] for known in status.sessions
    ]
    return [Table(columns("session", "pool", "state", "", wraps=("",)), rows)] if rows else []


def _runs(status: FleetStatus) -> Report:
    rows: list[list[Part]] = [
        [
            run.job,
            run.outcome,
            Moment(iso_time(run.ended_at)),
            duration(run.ended_at - run.started_at),
            "" if run.cost is None else f"${run.cost:.2f}",
            run.machine,
            run.note,
        ]
        for run in reversed(status.runs)
    ]
    head = columns("run of", "outcome", "ended", "took", "cost", "machine", "note", wraps=("note",))
    return [Table(head, rows)] if rows else []
