"""Run a command at a terminal of its own, as a person does."""

from __future__ import annotations

import os
import pty
import select
import sys
import time

from support.sandbox import ENTRY


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
