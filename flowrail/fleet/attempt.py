"""One run of an agent: take the work, start the program with the answer of `claim`, and read the outcome from the session.

The session decides how a run ended, not the program: its exit status and its last message prove nothing.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple

from flowrail.errors import ConflictError
from flowrail.fleet import process, programs, targets
from flowrail.fleet.configuration import Limits
from flowrail.fleet.programs import LogSummary
from flowrail.fleet.records import AgentRun, RunOutcome
from flowrail.fleet.targets import Target
from flowrail.formatters.guidance import as_xml, work
from flowrail.hosts.conversation import FLEET
from flowrail.machines.engine.dispatched_work import DispatchGoneError
from flowrail.machines.guidance.views import Assignment
from flowrail.machines.sessions.session import CLAIMED, COMPLETED, FINISHED, Session
from flowrail.operations.environment import World
from flowrail.operations.running import dispatched_work, steps
from flowrail.operations.running.steps import Answer
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
    """Work that a run has taken: its prompt, the session whose steps it does, and what it must still hold at its end.

    ``token`` is that of the dispatch, and empty if the run works on a session that was not dispatched.
    """

    target: Target
    session: str
    prompt: str
    token: str = ""
    model: str | None = None


def take(world: World, target: Target, *, holders: Collection[str], fence: bool) -> Work:
    """Take the work of *target* for the conversation of *world*.

    A dispatch that an earlier run holds is continued with its token, as long as the agent of that run has certainly
    ended. With *fence* it may still be alive: the dispatch is cancelled and claimed again, so that no report of the old
    agent counts. *holders* are the names under which the fleet holds dispatches; those of other holders do not change.
    """
    if not target.dispatch:
        answer = steps.look(world, target.session, take_over=True)
        if not answer.session.is_open:
            raise DispatchGoneError(f"session `{target.session}` has ended", hint="nothing is left to do")
        return Work(target, target.session, as_xml.render(answer.guidance))
    dispatch = targets.dispatch_of(world, target)
    if dispatch is None:
        raise DispatchGoneError(
            f"the session has left the step of `{target.key}`", hint="nothing is left to do"
        )
    if dispatch.status == CLAIMED and dispatch.holder in holders:
        if fence:
            dispatched_work.cancel(world._replace(host=None), target.session, target.dispatch)
        elif dispatch.child is not None:
            answer = steps.look(world, dispatch.child, take_over=True)
            return Work(
                target, dispatch.child, as_xml.render(answer.guidance), str(dispatch.token), dispatch.model
            )
        else:
            taken = dispatched_work.claim(world, target.session, target.dispatch, token=dispatch.token)
            return _work(target, taken, dispatch.model)
    elif dispatch.ended and not fence:
        raise DispatchGoneError(f"dispatch `{target.key}` has ended", hint="nothing is left to do")
    return _work(target, dispatched_work.claim(world, target.session, target.dispatch), dispatch.model)


def _work(target: Target, taken: Answer | Assignment, model: str | None) -> Work:
    if isinstance(taken, Answer):
        child = taken.session.id
        return Work(target, child, as_xml.render(taken.guidance), child, model)
    return Work(target, target.session, work.assignment_xml(taken), str(taken.dispatch.token), model)


def run(
    world: World,
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
    conversation = str(world.host)
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
    outcome = patient(lambda: result(world, taken)) or _without_result(ended, summary)
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


def result(world: World, taken: Work) -> RunOutcome | None:
    """Return the outcome of a run from its session, or `None` if it has no result and waits for nothing."""
    if taken.token:
        dispatch = targets.dispatch_of(world, taken.target)
        if dispatch is None or dispatch.token != taken.token or dispatch.status not in {CLAIMED, FINISHED}:
            return RunOutcome.FENCED
        if dispatch.status == FINISHED:
            return RunOutcome.FINISHED if dispatch.succeeded else RunOutcome.FAILED
    session = targets.current(world, taken.session)
    if not taken.token:
        if session.host is not None and session.host.id != world.host:
            return RunOutcome.FENCED
        if not session.is_open:
            return RunOutcome.FINISHED if session.status == COMPLETED else RunOutcome.FAILED
    return RunOutcome.WAITING if _waits(taken, session) else None


def _waits(taken: Work, session: Session) -> bool:
    """Return whether the session waits for the user or, if the run does its steps, for other agents."""
    is_prompt = taken.token != "" and taken.session == taken.target.session
    return targets.waits_for_user(session) if is_prompt else targets.waits(session)


def _without_result(ended: process.Ended, summary: LogSummary) -> RunOutcome:
    if ended.reason:
        return RunOutcome.TIMED_OUT if ended.reason == process.TIMED_OUT else RunOutcome.STOPPED
    if summary.quota_until is not None:
        return RunOutcome.QUOTA
    return RunOutcome.CRASHED if ended.status else RunOutcome.NO_RESULT


def give_up(world: World, target: Target, reason: str) -> None:
    """End a dispatch as failed because its agents have had all their attempts."""
    dispatch = targets.dispatch_of(world, target)
    if dispatch is None or dispatch.ended:
        return
    try:
        if dispatch.child is not None:
            steps.abandon(world._replace(host=None), dispatch.child, reason)
        elif dispatch.token is not None and dispatch.status == CLAIMED:
            token = dispatch.token
            dispatched_work.finish(
                world, target.session, target.dispatch, "fail", token=token, facts={"reason": reason}
            )
        else:
            dispatched_work.cancel(world._replace(host=None), target.session, target.dispatch)
    except ConflictError:
        return  # it has just ended differently
