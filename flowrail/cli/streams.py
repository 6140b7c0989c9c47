"""The streams of the process: UTF-8, and standard output kept for the answer.

What an author's code prints, or a program that it starts, goes to standard error. A reader that has
gone is no error of ours.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress

_commands: list[ExitStack] = []


@contextmanager
def answering() -> Iterator[None]:
    """Hold for as long as a command runs; in the end everything is with the reader."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what no encoder takes is escaped, in the way of JSON
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    _commands.append(ExitStack())
    try:
        yield
    finally:
        _commands.pop().close()
        put("")


def keep_apart() -> None:
    """Send to standard error what is printed from here on, until the next answer."""
    if not _commands:
        return  # no command runs: standard output is not ours
    together()
    sys.stdout.flush()
    with suppress(OSError):  # a descriptor that is closed takes nothing
        kept = os.dup(1)
        os.dup2(2, 1)
        _commands[-1].callback(os.close, kept)
        _commands[-1].callback(os.dup2, kept, 1)
    _commands[-1].enter_context(redirect_stdout(sys.stderr))


def together() -> None:
    """Let standard output be the answer's again."""
    if _commands:
        _commands[-1].close()


def put(what: str) -> None:
    """Write a part of the answer, and hand it over."""
    together()
    try:
        sys.stdout.write(what)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
