"""`flow fleet`: run sessions with headless agents."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Annotated

from flowrail.command import Command
from flowrail.errors import FlowError, UsageError
from flowrail.fleet import folders
from flowrail.fleet.fleet import Fleet, has_fleet
from flowrail.fleet.programs import PROGRAMS, check_program
from flowrail.fleet.status import FleetStatus, status_of
from flowrail.fleet.worker import LOST_SECONDS, Worker
from flowrail.hosts.host import CLAUDE_CODE
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSkill, Params
from flowrail.storage.configuration import read_configuration
from flowrail.text.phrases import count
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line

Program = Annotated[
    str, Help(f"The program: {', '.join(PROGRAMS)}, or one from your configuration.", metavar="NAME")
]


@dataclass(frozen=True)
class QueuedSession:
    """A session that workers will run."""

    session: str
    program: str
    workers: int

    def report(self) -> Report:
        """Return what a person reads."""
        start = f"no worker runs; start one: {Command('fleet worker', program=self.program)}"
        return [f"{self.session} is queued for {self.program}", *([] if self.workers else [start])]


@operation(
    "fleet run",
    "flow fleet run problem-analysis -p topic='slow login'",
    "flow fleet run --session problem-analysis-k3x9q2",
)
def run(
    environment: Environment,
    skill: OptionalSkill = None,
    *,
    param: Params = {},  # noqa: B006 - never changed
    session: Annotated[str | None, Help("Run an open session instead of a new one.", metavar="ID")] = None,
    program: Program = CLAUDE_CODE.program,
) -> QueuedSession:
    """Start a session that workers run

    Headless agents do its steps and the work that it dispatches, until it ends. Its questions appear in `flow watch` and
    `flow ui`; after an answer it continues. With --session, workers continue an open session; one that they gave up gets
    all its attempts again.
    """
    if (skill is None) == (session is None):
        raise UsageError("exactly one of SKILL and --session is needed", hint="give one of them")
    with closing(Fleet(_own(environment))) as fleet:
        started = session or fleet.start(str(skill), param, program)
        if session is not None:
            fleet.run_session(session, program)
        workers = sum(worker.program == program for worker in fleet.records.workers())
    return QueuedSession(started, program, workers)


@operation("fleet worker", "flow fleet worker", "flow fleet worker --program codex --slots 4")
def worker(
    environment: Environment,
    *,
    program: Program = CLAUDE_CODE.program,
    slots: Annotated[int | None, Help("How many agents this worker runs at once.", metavar="N")] = None,
    time_limit: Annotated[float | None, Help("The longest time of one run.", metavar="MINUTES")] = None,
    attempts: Annotated[
        int | None, Help("How many runs in a row may fail before work is given up.", metavar="N")
    ] = None,
    lost_after: Annotated[
        float, Help("Take over the jobs of a worker without a heartbeat for this long.", metavar="SECONDS")
    ] = LOST_SECONDS,
) -> None:
    """Run headless agents for the sessions of the fleet

    Runs in the project of the current folder until Ctrl+C, which kills its agents and puts their jobs back into the
    queue. Asks you once whether agents may work in this folder. Needs the extra flowrail[fleet].
    """
    environment = _own(environment)
    if min(number for number in (slots, time_limit, attempts, lost_after, 1) if number is not None) <= 0:
        raise UsageError("a limit must be greater than 0", hint="give another number")
    configured = read_configuration(environment.environ, environment.home).fleet
    limits = replace(
        configured,
        slots=slots or configured.slots,
        time_limit=time_limit or configured.time_limit,
        attempts=attempts or configured.attempts,
    )
    check_program(program, limits, environment.environ)
    folders.approve(environment)
    with closing(Fleet(environment)) as fleet:
        tell = environment.tell
        running = Worker(
            fleet, program, limits, say=lambda line: tell(one_line(line)), lost_seconds=lost_after
        )

        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: running.stop())
        tell(f"{running.id} runs up to {count(limits.slots, 'agent')} of {program}; press Ctrl+C to stop")
        status = 1
        try:
            running.run()
            status = 0
        except FlowError as error:
            tell(f"{error.message} [{error.code}]; {error.hint}")
            status = error.exit_status
        except Exception:  # noqa: BLE001 - a bug: shown here, because the process ends below
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(status)  # threads of the queue would keep the process alive


@operation("fleet status", "flow fleet status", "flow fleet status --json --jobs 1000")
def status(
    environment: Environment,
    *,
    jobs: Annotated[int, Help("How many jobs to show, the newest.", metavar="N")] = 10,
) -> FleetStatus:
    """Show workers, sessions and the newest jobs"""
    if not has_fleet(environment):
        return FleetStatus()
    with closing(Fleet(_own(environment))) as fleet:
        return status_of(fleet, newest=jobs)


def _own(environment: Environment) -> Environment:
    """Return an environment that belongs to no conversation, even if an agent makes the call."""
    environment.conversation = None
    return environment
