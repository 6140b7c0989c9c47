"""A hook as a host calls it: JSON in, one JSON object out, exit status 0 always.

A look at the call decides whether there may be something to say, which is nearly never the case and has to be fast. Only
then a second module is imported, which looks closer, or reads the sessions from their stores and answers.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module

from flowrail.hooks.call import Call, read_call
from flowrail.rules.tools import QUESTIONS, SKILL_TOOLS
from flowrail.storage.user_folders import state_folder
from flowrail.text import size_limits

EXIT = 0
_MODULES = {
    **dict.fromkeys(
        ("session-start", "session-end", "stop", "subagent-stop"), ("start_and_stop_look", "start_and_stop")
    ),
    "pre-tool-use": ("before_tool", "suspicions", "denials"),
    **dict.fromkeys(("post-tool-use", "post-tool-use-failure"), ("after_tool", "tool_notes", "stale_runs")),
}
"""For each event, the modules that look, each closer than the one before it, and the module that answers.

A `look` returns what the next module gets, the answer, or `None` if there is nothing to say. After an answer or `None`, no
further module is imported.
"""
_AFTER = {**dict.fromkeys(SKILL_TOOLS, ("skill_call",)), **dict.fromkeys(QUESTIONS, ("question_tool",))}
"""The module that answers after a tool, if it is not the same as for other tools."""


def run(event: str) -> int:
    """Answer one event of a host on standard output."""
    try:
        sys.stdout.write(f"{json.dumps(answer_of(event))}\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # without a standard output Python has none to write to
        _give_up_output()
    return EXIT


def answer_of(event: str) -> Mapping[str, object]:
    """Return the answer to the input on standard input. A hook that fails must not stop an agent."""
    with suppress(BaseException):
        data = sys.stdin.buffer.read(size_limits.HOOK_INPUT_BYTES + 1)
        home = os.path.expanduser("~")
        state = state_folder(os.environ, home)
        if len(data) <= size_limits.HOOK_INPUT_BYTES:
            call = read_call(event, data, environ=os.environ, home=home, state=state, now=_now(), cwd=_cwd())
            return _answer(event, call) if call is not None else {}
    return {}


def _answer(event: str, call: Call) -> Mapping[str, object]:
    modules = _AFTER.get(call.tool) if event == "post-tool-use" else None
    *looking, answering = modules or _MODULES[event]
    found: tuple[object, ...] = ()
    for name in looking:
        looked = import_module(f"flowrail.hooks.{name}").look(event, call, *found)
        if not isinstance(looked, tuple):
            return looked or {}
        found = looked
    answer: Mapping[str, object] = import_module(f"flowrail.hooks.{answering}").answer(event, call, *found)
    return answer


def _cwd() -> str:
    try:
        return os.getcwd()
    except OSError:
        return os.sep


def _now() -> str:
    seconds = time.time()
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


def _give_up_output() -> None:
    """Leave nothing that the interpreter would try to write at its end."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except OSError:
        sys.stdout = io.StringIO()
