"""Run a command at a terminal of its own, as a person does."""

from __future__ import annotations

import fcntl
import os
import re
import select
import struct
import termios
import time
from collections.abc import Mapping

from support.forked import start_at_terminal

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def at_a_terminal(
    words: list[str],
    answer: str,
    before: str = "",
    *,
    columns: int = 80,
    env: Mapping[str, str] | None = None,
) -> tuple[str, int]:
    """Run a command at a terminal, answer its question, and return its output and exit status.

    Standard input is closed. *before* is Python that runs before the command.
    """
    environ = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}

    def prepare() -> None:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        os.close(0)

    child, terminal = start_at_terminal(
        words, env={**environ, "TERM": "xterm-256color", **(env or {})}, before=before, prepare=prepare
    )
    output, is_answered, end = b"", False, time.monotonic() + 60
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        try:
            piece = os.read(terminal, 1 << 16) if ready else b""
        except OSError:  # the other end is closed
            break
        output += piece
        if not is_answered and b"Type yes: " in output:
            os.write(terminal, f"{answer}\n".encode())
            is_answered = True
        if ready and not piece:
            break
    os.close(terminal)
    return output.decode(), child.wait()


def shown(*words: str, columns: int = 80, env: Mapping[str, str] | None = None, status: int = 0) -> str:
    """Return what a command prints at a terminal with this many columns."""
    output, exit_status = at_a_terminal(list(words), "", columns=columns, env=env)
    assert exit_status == status, output
    return output.replace("\r\n", "\n")


def plain(text: str) -> str:
    """Return *text* without colours."""
    return SEQUENCE.sub("", text)
