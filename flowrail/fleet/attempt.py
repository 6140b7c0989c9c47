"""One run of an agent: take the work, start the program with its step, and read the outcome from the session.

The session decides how a run ended, not the program: its exit status and its last message prove nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple

from flowrail.errors import ConflictError
from flowrail.fleet import process, programs, targets
from flowrail.fleet.configuration import Limits
from flowrail.fleet.programs import LogSummary
from flowrail.fleet.records import AgentRun, RunOutcome
from flowrail.fleet.targets import Target
from flowrail.formatters.guidance import blocks
from flowrail.hosts.conversation import FLEET
from flowrail.machines.agents import DispatchGoneError, parent_of
from flowrail.machines.guidance.agent_work import PENDING
from flowrail.machines.session import COMPLETED
from flowrail.operations.environment import Environment
from flowrail.operations.running import steps
from flowrail.operations.running.child_sessions import lost_dispatch
from flowrail.storage.files import make_private_dir, write_atomic
from flowrail.text.safe_text import visible

NOT_INHERITED = ("CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT")
"""Variables that mark a program as started inside a conversation of another one."""
_INSTRUCTIONS = """\
You work alone: no user reads along. Follow the procedure below. Run each command that it prints, exactly as printed,
until it says that the session has ended or that your result is recorded. Only what these commands record counts.

End your turn earlier in two cases:
- A step gives work to sub-agents. Other workers do it. Do not start sub-agents and do not claim their work.
- The session waits for an answer of the user. You are started again when the answer is there.

"""


class Work(NamedTuple):
    """Work that a run has taken: its prompt, and the session whose steps it does."""

    session: str
    prompt: str
    model: str | None = None


def take(environment: Environment, target: Target, *, runs: Collection[str]) -> Work:
    """Take over the session of *target* for the conversation of *environment*. No report of an earlier agent counts then.

    *runs* are the conversations of the fleet that had it. The sessions of other agents do not change.
    """
    session_id = targets.session_of(environment, target)
    parent, model = parent_of(session_id), None
    if parent is not None:
        above = steps.look(environment.replaced(conversation=None), parent)
        dispatch = next(known for known in above.guidance.dispatches if known.child == session_id)
        model = dispatch.model
        owner = None if dispatch.status == PENDING else targets.current(environment, session_id).owner
        if owner not in {None, environment.conversation, above.session.owner, *runs}:
            raise DispatchGoneError(f"another agent works on `{session_id}`", hint="nothing is left to do")
    answer = steps.look(environment, session_id, take_over=True)
    if not answer.session.is_open:
        raise DispatchGoneError(f"session `{session_id}` has ended", hint="nothing is left to do")
    return Work(session_id, blocks.xml(answer.guidance), model)


def run(
    environment: Environment,
    taken: Work,
    limits: Limits,
    record: AgentRun,
    *,
    folder: str,
    files: str,
    environ: Mapping[str, str],
    stop: threading.Event,
    patient: Callable[[Callable[[], RunOutcome | None]], RunOutcome | None],
) -> tuple[AgentRun, float | None]:
    """Run the agent of *record* for the work in *folder*. Its prompt and its log are written to the folder *files*.

    Return the complete *record*, and when a used-up quota is available again, in seconds since 1970. *patient* repeats a
    call that reads the session until its store answers.
    """
    conversation = str(environment.conversation)
    make_private_dir(files)
    prompt, log = (os.path.join(files, f"{conversation}.{kind}") for kind in ("prompt", "log"))
    write_atomic(prompt, (_INSTRUCTIONS + visible(taken.prompt) + "\n").encode(), durable=False)
    command = programs.command_of(record.program, limits, conversation=conversation, model=taken.model)
    ended = process.run(
        command,
        folder=folder,
        environ=agent_environment(environ, conversation),
        prompt=prompt,
        log=log,
        seconds=60 * limits.time_limit,
        stop=stop,
    )
    summary = programs.read_log(log)
    outcome = patient(lambda: result(environment, taken)) or _without_result(ended, summary)
    not_started = "the program could not be started; see its log"
    done = replace(
        record,
        outcome=outcome,
        exit_status=ended.status,
        cost=summary.cost,
        log=log,
        note=not_started if ended.status == process.NOT_STARTED else "",
    )
    return done, summary.quota_until if outcome is RunOutcome.QUOTA else None


def agent_environment(environ: Mapping[str, str], conversation: str) -> dict[str, str]:
    """Return the environment of an agent: that of the worker, with the run as its conversation and `flow` on the path."""
    agent_environ = {name: value for name, value in environ.items() if name not in NOT_INHERITED}
    scripts = os.path.dirname(sys.executable)
    agent_environ["PATH"] = os.pathsep.join(part for part in (scripts, agent_environ.get("PATH", "")) if part)
    agent_environ["FLOW_HOST_SESSION"] = conversation
    agent_environ[FLEET] = "1"
    return agent_environ


def result(environment: Environment, taken: Work) -> RunOutcome | None:
    """Return the outcome of a run from its session, or `None` if it has no result and waits for nothing."""
    session = targets.current(environment, taken.session)
    if (
        session.host is None
        or session.host.id != environment.conversation
        or lost_dispatch(environment.store, session)
    ):
        return RunOutcome.FENCED
    if not session.is_open:
        return RunOutcome.FINISHED if session.status == COMPLETED else RunOutcome.FAILED
    return RunOutcome.WAITING if targets.waits(environment, session) else None


def _without_result(ended: process.Ended, summary: LogSummary) -> RunOutcome:
    if ended.reason:
        return RunOutcome.TIMED_OUT if ended.reason == process.TIMED_OUT else RunOutcome.STOPPED
    if summary.quota_until is not None:
        return RunOutcome.QUOTA
    return RunOutcome.CRASHED if ended.status else RunOutcome.NO_RESULT


def give_up(environment: Environment, target: Target, reason: str) -> None:
    """End a child session as failed because its agents have had all their attempts."""
    with suppress(ConflictError):  # it has just ended differently
        steps.abandon(
            environment.replaced(conversation=None), targets.session_of(environment, target), reason
        )
