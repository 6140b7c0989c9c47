"""Run a command at a terminal of its own, as a person does."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import sys
import termios
import time
from collections.abc import Mapping

from support.sandbox import ENTRY
from support.web import default_interrupt

SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def at_a_terminal(words: list[str], answer: str, before: str = "") -> tuple[str, int]:
    """Run a command at a terminal of its own, and answer its question; standard input is closed."""
    pid, terminal = pty.fork()
    if pid == 0:  # pragma: no cover - the other process
        os.close(0)
        os.execv(sys.executable, [sys.executable, "-c", before + ENTRY, *words])  # noqa: S606 - no shell, as meant
    said, answered, end = "", False, time.monotonic() + 20
    while time.monotonic() < end:
        ready, _, _ = select.select([terminal], [], [], 0.5)
        try:
            piece = os.read(terminal, 4096) if ready else b""
        except OSError:
            break
        said += piece.decode()
        if not answered and "Type yes: " in said:
            os.write(terminal, f"{answer}\n".encode())
            answered = True
        if ready and not piece:
            break
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return said, os.waitstatus_to_exitcode(status)


def shown(*words: str, columns: int = 80, env: Mapping[str, str] | None = None, status: int = 0) -> str:
    """Run a command in a terminal of so many columns, and return what it wrote."""
    child, descriptor = pty.fork()
    if child == 0:  # pragma: no cover - the child becomes the command
        known = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        environ = {**known, "TERM": "xterm-256color", **(env or {})}
        default_interrupt()
        code = f"import sys; sys.stdin.readline()\n{ENTRY}"  # the size of the terminal is set meanwhile
        os.execve(sys.executable, [sys.executable, "-c", code, *words], environ)  # noqa: S606
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    os.write(descriptor, b"\n")
    output = b""
    try:
        while piece := os.read(descriptor, 1 << 16):
            output += piece
    except OSError:  # the other end is closed
        pass
    os.close(descriptor)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == status, output.decode()
    return output.decode().replace("\r\n", "\n").removeprefix("\n")


def plain(text: str) -> str:
    return SEQUENCE.sub("", text)
