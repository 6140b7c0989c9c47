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
from flowrail.hooks.hook import Hook
from flowrail.hosts.host import CLAUDE_CODE, NOTHING, Answer, host_named
from flowrail.storage.ownership import state_folder
from flowrail.text import limits

EXIT = 0


def run(event: str, host: str = CLAUDE_CODE.name) -> int:
    """Answer one event of a host on standard output."""
    try:
        sys.stdout.write(f"{json.dumps(answer_of(event, host))}\n")
        sys.stdout.flush()
    except (OSError, ValueError, AttributeError):  # without a standard output Python has none to write to
        _give_up_output()
    return EXIT


def answer_of(event: str, host: str) -> Answer:
    """Return the answer to the input on standard input. A hook that fails must not stop an agent."""
    with suppress(BaseException):
        return _answer(event, host)
    return NOTHING


def _answer(event: str, host: str) -> Answer:
    data = sys.stdin.buffer.read(limits.HOOK_INPUT_BYTES + 1)
    if len(data) > limits.HOOK_INPUT_BYTES:
        return NOTHING
    home = os.path.expanduser("~")
    hook = Hook(os.environ, home, _cwd(), state_folder(os.environ, home), _now, host=host_named(host))
    return answer(event, data, hook)


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
