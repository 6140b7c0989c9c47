"""Check every answer that shows a step, for any workflow.

Each rule yields its problems as text. An answer without problems yields nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from flowrail.command import Command
from flowrail.machines.definition.step import DONE, StepDef, fact_args
from flowrail.machines.definition.workflow import Workflow
from flowrail.testing.walks.stage import Reply

KEYS = ("session", "skill", "status", "revision", "step", "actions", "dispatches", "questions", "next")
PRINTED_COMMANDS = frozenset({"start", "step", "resume", "claim", "answer", "finding add"})
"""The commands that the answer of a step prints."""
_DIFFERS_ON_RESUME = {"resumed", "replayed", "briefing"}


def problems(reply: Reply, workflow: Workflow) -> Iterator[str]:
    """Yield everything that is wrong with an answer."""
    if reply.problem:
        yield reply.problem
        return
    missing = [key for key in KEYS if key not in reply.data]
    if missing:
        yield f"the answer lacks {', '.join(missing)}"
        return
    yield from _content_problems(reply)
    yield from _command_problems(reply, workflow)
    yield from _format_problems(reply)


def resume_differences(reply: Reply, resumed: Reply) -> Iterator[str]:
    """Yield what differs between an answer and the same step shown by `flow resume`."""
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
        if after["status"] != "waiting":
            yield "the report did not move the session, and the session is not waiting for an answer"
        return
    reached = after["step"]["id"] if after["step"] else None
    if transition["to"] is not None and reached != transition["to"]:
        yield f"`{transition['outcome']}` should lead to `{transition['to']}` but led to {_name(reached)}"
    elif transition["ends"] and reached is not None:
        yield f"`{transition['outcome']}` should end the session but led to {_name(reached)}"


def commands_in(data: Mapping[str, Any]) -> Iterator[Command]:
    """Yield every command of an answer."""
    yield from (transition["command"] for transition in data["next"])
    yield from (dispatch["command"] for dispatch in data["dispatches"])
    for question in data["questions"]:
        yield from (option["command"] for option in question["options"])
    for key in ("then_command", "finding_command"):
        if data.get(key):
            yield data[key]


def _content_problems(reply: Reply) -> Iterator[str]:
    if not any(str(action).strip() for action in reply.data["actions"]):
        yield "the step has no instructions"
    step = reply.data["step"]
    if step is not None and not str(step["title"]).strip():
        yield "the step has no title"
    is_open = reply.data["status"] in {"active", "waiting"}
    if is_open != (step is not None):
        yield f"the session is {reply.data['status']} and is at {_name(step and step['id'])}"
    if is_open and not reply.data["next"] and not _waits(reply.data):
        yield "the step prints no next command"


def _waits(data: Mapping[str, Any]) -> bool:
    running = any(
        dispatch["status"] in {"pending", "claimed"} or dispatch["again"] for dispatch in data["dispatches"]
    )
    return running or any(question["answer"] is None for question in data["questions"])


def _command_problems(reply: Reply, workflow: Workflow) -> Iterator[str]:
    step = workflow.get(reply.data["step"]["id"]) if reply.data["step"] else None
    for command in commands_in(reply.data):
        if command.verb not in PRINTED_COMMANDS:
            yield f"`{command}` is not a command that a step may print"
        elif command.verb == "step":
            yield from _report_problems(command, reply.data, step)


def _report_problems(command: Command, data: Mapping[str, object], step: StepDef | None) -> Iterator[str]:
    skill, outcome = command.arguments
    if skill != data["skill"] or command.options.get("session") != data["session"]:
        yield f"`{command}` is about another session"
    if str(command.options.get("expect")) != str(data["revision"]):
        yield f"`{command}` does not name revision {data['revision']}"
    if step is None:
        yield f"`{command}` reports a step, but the session has ended"
        return
    if outcome != DONE and outcome not in {str(accepted) for accepted in step.ways}:
        yield f"`{command}` reports `{outcome}`, which step `{step.id}` does not accept"
    facts = command.options.get("facts")
    unknown = [name for name in facts if name not in fact_args(step)] if isinstance(facts, Mapping) else []
    if unknown:
        yield f"`{command}` gives `{unknown[0]}`, which step `{step.id}` does not take"


def _format_problems(reply: Reply) -> Iterator[str]:
    if reply.xml is not None:
        try:
            root = ET.fromstring(reply.xml)  # noqa: S314 - our own output, without entities
        except ET.ParseError as error:
            yield f"the XML is not well formed: {error}"
            return
        printed = {case.text for case in root.iterfind("next/case")}
        if printed != {str(transition["command"]) for transition in reply.data["next"]}:
            yield "the commands in the XML are not those in the JSON"
        if root.get("session") != reply.data["session"]:
            yield "the XML names another session"
    if reply.text is not None:
        for transition in reply.data["next"]:
            if str(transition["command"]) not in reply.text:
                yield f"the text lacks the command of `{transition['outcome']}`"


def _name(step_id: str | None) -> str:
    return f"`{step_id}`" if step_id else "the end"
