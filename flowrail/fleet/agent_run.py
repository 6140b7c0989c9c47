"""One run of an agent: take the work, start the program with its step, and read the outcome from the session.

The session decides how a run ended, not the program: its exit status and its last message prove nothing.
"""

from __future__ import annotations

import os
import sys
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum

from flowrail.fleet import process, programs, targets
from flowrail.hosts.conversation import FLEET
from flowrail.hosts.host import HOSTS
from flowrail.machines.agents import DispatchGoneError, parent_of
from flowrail.machines.guidance.agent_work import PENDING
from flowrail.operations.environment import Environment
from flowrail.operations.steps.current_step import look
from flowrail.operations.steps.dispatched_work import lost_dispatch
from flowrail.session_status import COMPLETED
from flowrail.storage.configuration import FleetLimits
from flowrail.storage.files import make_private_dir, write_atomic
from flowrail.text.phrases import iso_time
from flowrail.text.safe_text import visible

NOT_INHERITED = frozenset(mark for host in HOSTS for mark in host.marks)
"""Variables that mark a program as started inside a conversation of another one."""
_OURS = "f1ee7000"
"""What the ids of the conversations of all runs begin with."""
_INSTRUCTIONS = """\
You work alone: no user reads what you write. Follow the procedure below. Run each command that it prints, exactly as printed,
until it says that the session has ended or that your result is recorded. Only what these commands record counts.

End your turn earlier in two cases:
- A step gives work to sub-agents. Other workers do it. Do not start sub-agents and do not do their work.
- The session waits for an answer of the user. You are started again when the answer is there.

"""


class RunOutcome(StrEnum):
    """How a run of an agent ended.

    `finished` and `failed` are results that the session has; `failed` is not tried again. `waiting` means that the
    session waits for its sub-agents or for the user. After `no result`, `timed out`, `crashed` and `refused`, which means
    that the work could not be taken, the agent is started again, up to the number of attempts. `quota` does not count
    as an attempt. A `replaced` run had no work to do any more.
    """

    FINISHED = "finished"
    FAILED = "failed"
    WAITING = "waiting"
    NO_RESULT = "no result"
    TIMED_OUT = "timed out"
    CRASHED = "crashed"
    QUOTA = "quota"
    REPLACED = "replaced"
    REFUSED = "refused"


ATTEMPTS = frozenset({RunOutcome.NO_RESULT, RunOutcome.TIMED_OUT, RunOutcome.CRASHED, RunOutcome.REFUSED})
"""The outcomes that count as failed attempts."""


@dataclass(frozen=True)
class AgentRun:
    """One complete run of an agent."""

    run: str
    """The id of its conversation."""
    machine: str
    started_at: str
    ended_at: str = ""
    outcome: RunOutcome = RunOutcome.REFUSED
    exit_status: int | None = None
    log: str = ""
    note: str = ""
    quota_until: float | None = None
    """When a used-up quota is available again, in seconds since 1970."""


@dataclass(frozen=True)
class Work:
    """Work that a run has taken: its prompt, and the session whose steps it does."""

    session: str
    prompt: str
    model: str | None


def new_conversation() -> str:
    """Return the id of the conversation of a new run, a UUID as Claude Code demands."""
    return _OURS + str(uuid.uuid4())[len(_OURS) :]


def is_run(conversation: str | None) -> bool:
    """Return whether a conversation is a run of the fleet."""
    return conversation is not None and conversation.startswith(_OURS)


def take(environment: Environment, target: str) -> Work:
    """Take over the session of *target* for the conversation of *environment*. No report of an earlier run counts then.

    The sessions of other agents do not change.
    """
    session_id = targets.session_of(environment, target)
    parent, model = parent_of(session_id), None
    if parent is not None:
        above = look(environment.replaced(conversation=None), parent)
        dispatch = next(known for known in above.dispatches if known.child == session_id)
        model = above.work.model if above.work is not None else None
        owner = None if dispatch.status == PENDING else targets.current(environment, session_id).owner
        if owner not in {None, above.kept.owner} and not is_run(owner):
            raise DispatchGoneError(f"another agent works on `{session_id}`", hint="nothing is left to do")
    shown = look(environment, session_id, take_over=True)
    if not shown.kept.is_open:
        raise DispatchGoneError(f"session `{session_id}` has ended", hint="nothing is left to do")
    return Work(session_id, shown.xml(), model)


def run_agent(
    environment: Environment,
    work: Work,
    run: AgentRun,
    *,
    program: str,
    limits: FleetLimits,
    folder: str,
    files: str,
    stop: threading.Event,
    patient: Callable[[Callable[[], RunOutcome | None]], RunOutcome | None],
) -> AgentRun:
    """Run an agent for *work* in *folder* and return *run* with its outcome. Prompt and log are written to *files*.

    *patient* repeats a call that reads the session until its store answers.
    """
    make_private_dir(files)
    prompt, log = (os.path.join(files, f"{run.run}.{kind}") for kind in ("prompt", "log"))
    write_atomic(prompt, (_INSTRUCTIONS + visible(work.prompt) + "\n").encode(), durable=False)
    ended = process.run(
        programs.command_of(program, limits, conversation=run.run, model=work.model),
        folder=folder,
        environ=agent_environment(environment, run.run),
        prompt=prompt,
        log=log,
        seconds=60 * limits.time_limit,
        stop=stop,
    )
    quota_until = programs.quota_until(log)
    outcome = patient(lambda: result(environment, work.session)) or _without_result(ended, quota_until)
    done = replace(run, outcome=outcome, exit_status=ended.status, log=log)
    if outcome is RunOutcome.QUOTA and quota_until is not None:
        return replace(done, quota_until=quota_until, note=f"waits until {iso_time(quota_until)}")
    is_started = ended.status != process.NOT_STARTED
    return done if is_started else replace(done, note="the program could not be started; see its log")


def agent_environment(environment: Environment, conversation: str) -> dict[str, str]:
    """Return the variables of an agent: those of the worker, with the run as its conversation and `flow` on the path."""
    environ = {name: value for name, value in environment.environ.items() if name not in NOT_INHERITED}
    scripts = os.path.dirname(sys.executable)
    environ["PATH"] = os.pathsep.join(part for part in (scripts, environ.get("PATH", "")) if part)
    return {**environ, "FLOW_HOST_SESSION": conversation, FLEET: "1"}


def result(environment: Environment, session_id: str) -> RunOutcome | None:
    """Return the outcome of a run from its session, or `None` if it has no result and waits for nothing."""
    session = targets.current(environment, session_id)
    is_own = session.host is not None and session.host.id == environment.conversation
    if not is_own or lost_dispatch(environment.store, session):
        return RunOutcome.REPLACED
    if not session.is_open:
        return RunOutcome.FINISHED if session.status == COMPLETED else RunOutcome.FAILED
    return RunOutcome.WAITING if targets.waits(environment, session) else None


def _without_result(ended: process.Ended, quota_until: float | None) -> RunOutcome:
    if ended.reason:
        return RunOutcome.TIMED_OUT
    if quota_until is not None:
        return RunOutcome.QUOTA
    return RunOutcome.CRASHED if ended.status else RunOutcome.NO_RESULT
