"""A hook as a host calls it: JSON in, one JSON object out, exit status 0 always.

No click, no engine, no session is loaded here; `hooks.dispatch` loads what it needs, when it needs it.
"""

from __future__ import annotations

import io
import json
import os
import sys
import time
from contextlib import suppress

from flowrail.hooks.answer import answer
from flowrail.hooks.environment import Hook
from flowrail.storage.ownership import state_folder
from flowrail.text import limits

EXIT = 0


def run(event: str) -> int:
    """Answer one event of a host on standard output."""
    text = "{}"
    with suppress(BaseException):  # a hook that fails must not stop an agent
        text = json.dumps(_answer(event))
    try:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # without a standard output Python has none to write to
        _give_up_output()
    return EXIT


def _answer(event: str) -> object:
    data = sys.stdin.buffer.read(limits.HOOK_INPUT_BYTES + 1)
    if len(data) > limits.HOOK_INPUT_BYTES:
        return {}
    home = os.path.expanduser("~")
    return answer(event, data, Hook(os.environ, home, _cwd(), state_folder(os.environ, home), _now))


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
