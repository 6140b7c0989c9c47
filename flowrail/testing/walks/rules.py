"""What must hold of every answer that tells a step, whoever wrote the workflow.

Each rule yields what is wrong in words; an answer that is in order yields nothing.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree import ElementTree as ET

from flowrail.machines.definition import command_line
from flowrail.machines.definition.step import DONE, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.reported_values import fact_args
from flowrail.testing.walks.stage import Reply

KEYS = ("session", "skill", "status", "revision", "step", "actions", "dispatches", "questions", "next")
PRINTED = frozenset({"start", "step", "resume", "claim", "answer", "finding"})
"""The commands that the answer of a step prints."""
_QUOTED = re.compile(r"'[^']*'|\"'\"")
_SPECIAL = re.compile(r"[^\w ./:=@%+,-]", re.ASCII)
_SAME = {"resumed", "replayed", "start_command"}
"""What tells that a step is shown again, and so differs when it is."""


def problems(reply: Reply, workflow: Workflow) -> Iterator[str]:
    """Yield everything that is wrong with an answer."""
    if reply.problem:
        yield reply.problem
        return
    missing = [key for key in KEYS if key not in reply.data]
    if missing:
        yield f"the answer lacks {', '.join(missing)}"
        return
    yield from _told(reply)
    yield from _commands(reply, workflow)
    yield from _forms(reply)


def differs(reply: Reply, again: Reply) -> Iterator[str]:
    """Yield what differs when the same step is shown again from disk."""
    if again.problem:
        yield f"shown again: {again.problem}"
        return
    for key in sorted({*reply.data, *again.data} - _SAME):
        before, now = reply.data.get(key), again.data.get(key)
        if key == "actions" and before is not None and now is not None:
            now = now[: len(before)]  # whoever comes back may be told more
        if before != now:
            yield f"shown again, `{key}` is another"


def landed(way: Mapping[str, Any], after: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[str]:
    """Yield where a way on did not lead where the answer before it said."""
    if after["revision"] == before["revision"]:
        if after["status"] != "waiting":
            yield "a report moved nothing, and nothing waits for an answer"
        return
    here = after["step"]["id"] if after["step"] else None
    if way["to"] is not None and here != way["to"]:
        yield f"`{way['outcome']}` was said to lead to `{way['to']}` and led to {_name(here)}"
    elif way["ends"] and here is not None:
        yield f"`{way['outcome']}` was said to end the run and led to {_name(here)}"


def words_of(line: str) -> list[str]:
    """Return the words of a printed command; `ValueError` where a shell would see more than words."""
    if not line.isprintable() or _SPECIAL.search(_QUOTED.sub("", line)):
        raise ValueError("is more than plain words")
    program, *words = command_line.words_of(line)
    if program != "flow" or not words:
        raise ValueError("does not start with `flow` and a command")
    return words


def commands_in(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield every command of an answer."""
    yield from (way["command"] for way in data["next"])
    yield from (each["command"] for each in data["dispatches"])
    for question in data["questions"]:
        yield from (option["command"] for option in question["options"])
    for key in ("start_command", "then_command", "finding_command"):
        if data.get(key):
            yield data[key]


def _told(reply: Reply) -> Iterator[str]:
    if not any(str(action).strip() for action in reply.data["actions"]):
        yield "the step tells nothing"
    step = reply.data["step"]
    if step is not None and not str(step["title"]).strip():
        yield "the step has no title"
    is_open = reply.data["status"] in {"active", "waiting"}
    if is_open != (step is not None):
        yield f"the session is {reply.data['status']} and stands at {_name(step and step['id'])}"
    if is_open and not reply.data["next"] and not _waits(reply.data):
        yield "nothing leads on from here"


def _waits(data: Mapping[str, Any]) -> bool:
    waiting = any(each["status"] in {"pending", "claimed"} or each["again"] for each in data["dispatches"])
    return waiting or any(each["answer"] is None for each in data["questions"])


def _commands(reply: Reply, workflow: Workflow) -> Iterator[str]:
    step = workflow.get(reply.data["step"]["id"]) if reply.data["step"] else None
    for line in commands_in(reply.data):
        try:
            words = words_of(line)
        except ValueError as error:
            yield f"the command `{line[:200]}` {error}"
            continue
        if words[0] not in PRINTED:
            yield f"`{line[:200]}` runs no command that a step prints"
        elif words[0] == "step":
            yield from _report(words, reply.data, step)


def _report(words: list[str], data: Mapping[str, Any], step: StepDef | None) -> Iterator[str]:
    line = shlex.join(["flow", *words])
    if words[1] != data["skill"] or _after(words, "--session") != [data["session"]]:
        yield f"`{line}` is about another session"
    if _after(words, "--expect") != [str(data["revision"])]:
        yield f"`{line}` does not name revision {data['revision']}"
    if step is None:
        yield f"`{line}` reports a step where there is none"
        return
    if words[2] != DONE and words[2] not in {str(outcome) for outcome in step.ways}:
        yield f"`{line}` names `{words[2]}`, which is no way on of step `{step.id}`"
    unknown = [fact for fact in _after(words, "-s") if fact.partition("=")[0] not in fact_args(step)]
    if unknown:
        yield f"`{line}` gives `{unknown[0]}`, which step `{step.id}` does not take"


def _after(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words[:-1]) if word == option]


def _forms(reply: Reply) -> Iterator[str]:
    if reply.xml is not None:
        try:
            root = ET.fromstring(reply.xml)  # noqa: S314 - our own output, without entities
        except ET.ParseError as error:
            yield f"the XML is not well formed: {error}"
            return
        printed = {each.text for each in root.iterfind("next/case")}
        if printed != {way["command"] for way in reply.data["next"]}:
            yield "the ways on in the XML are not those in the JSON"
        if root.get("session") != reply.data["session"]:
            yield "the XML names another session"
    if reply.text is not None:
        for way in reply.data["next"]:
            if way["command"] not in reply.text:
                yield f"the text lacks the command of `{way['outcome']}`"


def _name(step_id: str | None) -> str:
    return f"`{step_id}`" if step_id else "the end"
