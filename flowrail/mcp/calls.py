"""Commands as calls of the server's tools."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flowrail.command import Command, Hint

_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "step": ("skill", "outcome"),
    "start": ("skill",),
    "resume": ("session",),
    "status": ("session",),
    "claim": ("session", "dispatch"),
    "finish": ("session", "dispatch", "outcome"),
    "ask": ("session",),
    "answer": ("session",),
    "finding add": ("session",),
    "finding list": ("session",),
    "handoff send": ("target",),
    "handoff receive": ("file",),
    "handoff status": ("handoff",),
    "handoff retry": ("handoff",),
    "handoff cancel": ("handoff",),
    "handoff targets": (),
    "sessions": (),
    "list": (),
    "show": (),
}
"""The commands that a tool offers too, and what the tool calls their arguments."""
_TOOLS = {"resume": "step", "sessions": "status", "list": "discover", "show": "discover"}
_FIXED = {
    "finding add": {"action": "add"},
    "finding list": {"action": "list"},
    "handoff targets": {"what": "targets"},
}
_RENAMED = {"as": "holder"}
_NOT_FOR_TOOLS = frozenset({"json", "format", "all", "root"})


class Call(NamedTuple):
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False, default=list)}"


def call_of(command: Command, store: str) -> Call | None:
    """Return the call that does what *command* does; `None` if no tool does it, or not in this *store*."""
    names = _ARGUMENTS.get(command.verb)
    if names is None or command.store not in {None, store}:
        return None
    verb, _, action = command.verb.partition(" ")
    tool = "discover" if command.verb == "handoff targets" else _TOOLS.get(verb, verb)
    fixed = _FIXED.get(command.verb, {"action": action} if action else {})
    given = dict(zip(names, command.arguments, strict=False))
    options = {
        _RENAMED.get(name, name): dict(value) if isinstance(value, Mapping) else value
        for name, value in command.options.items()
        if name not in _NOT_FOR_TOOLS and value != {}
    }
    return Call(tool, {**fixed, **given, **options})


def shown_as_call(store: str) -> Callable[[Command], str]:
    """Return the function that shows a command as a call, or as a shell line if no tool does it."""
    return lambda command: str(call_of(command, store) or command)


def hint_with_calls(hint: str | Hint, store: str) -> str:
    """Return a hint with its commands as calls."""
    return hint.render(shown_as_call(store)) if isinstance(hint, Hint) else hint


def with_calls(data: Any, store: str) -> Any:
    """Return plain data with its commands as shell lines, and their calls beside them."""
    if isinstance(data, (list, tuple)):
        return [with_calls(item, store) for item in data]
    if not isinstance(data, Mapping):
        return str(data) if isinstance(data, Command) else data
    found: dict[str, Any] = {}
    for key, value in data.items():
        found[key] = with_calls(value, store)
        if isinstance(value, Command) or (value is None and key.endswith("command")):
            call = None if value is None else call_of(value, store)
            found[key.removesuffix("command") + "call"] = None if call is None else call._asdict()
    return found
