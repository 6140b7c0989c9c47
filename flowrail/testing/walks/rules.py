"""Check every answer that shows a step, for any workflow.

Each rule yields its problems as text. An answer without problems yields nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flowrail.machines.guidance.agent_work import PENDING
from flowrail.session_status import NEED_PERSON, OPEN
from flowrail.testing.walks.stage import Reply

_DIFFERS_ON_RESUME = {"resumed", "replayed", "briefing"}


def problems(reply: Reply) -> Iterator[str]:
    """Yield all problems of an answer."""
    if reply.problem:
        yield reply.problem
        return
    if not (reply.data["result"] or any(str(action).strip() for action in reply.data["actions"])):
        yield "the step has no instructions"
    if reply.data["step"] and not reply.data["next"] and not _waits(reply.data):
        yield "the step prints no next command"


def resume_differences(reply: Reply, resumed: Reply) -> Iterator[str]:
    """Yield the differences between an answer and the same step shown by `flow resume`."""
    if resumed.problem:
        yield f"flow resume: {resumed.problem}"
        return
    for key in sorted({*reply.data, *resumed.data} - _DIFFERS_ON_RESUME):
        before, after = reply.data.get(key), resumed.data.get(key)
        if key == "actions" and before is not None and after is not None:
            after = after[: len(before)]  # a resumed step may have more instructions
        if before != after:
            yield f"flow resume shows another `{key}`"


def transition_problems(
    transition: Mapping[str, object], after: Mapping[str, Any], before: Mapping[str, object]
) -> Iterator[str]:
    """Yield how the answer *after* a report contradicts the transition that *before* had announced."""
    if after["revision"] == before["revision"]:
        if after["status"] not in NEED_PERSON:
            yield "the report did not change the session, and the session is not waiting for an answer"
        return
    reached = after["step"]["id"] if after["step"] else None
    if transition["to"] is not None and reached != transition["to"]:
        yield f"`{transition['outcome']}` should lead to `{transition['to']}` but led to {_name(reached)}"
    elif transition["ends"] and reached is not None:
        yield f"`{transition['outcome']}` should end the session but led to {_name(reached)}"


def _waits(data: Mapping[str, Any]) -> bool:
    running = any(
        dispatch["status"] in {PENDING, *OPEN} or dispatch["again"] for dispatch in data["dispatches"]
    )
    return running or any(question["answer"] is None for question in data["questions"])


def _name(step_id: str | None) -> str:
    return f"`{step_id}`" if step_id else "the end"
