"""The streams of the process: UTF-8, and standard output kept for the answer.

What an author's code prints, or a program that it starts, goes to standard error. A reader that has
gone is no error of ours. An answer that cannot be written (a full disk, a closed stream) is one; what
was done by then is kept; the next command shows it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import TextIO

from flowrail.command import Command, Hint
from flowrail.errors import StorageError

_commands: list[ExitStack] = []


class AnswerLostError(StorageError):
    """Standard output took no more; what was done stands."""

    code = "ANSWER_LOST"


@contextmanager
def answering() -> Iterator[None]:
    """Hold for as long as a command runs; in the end everything is with the reader."""
    _fill_gaps()
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
    with _answer_or_refusal():
        sys.stdout.write(what)
        sys.stdout.flush()


def put_bytes(what: bytes) -> None:
    """Write an answer that is no text."""
    together()
    with _answer_or_refusal():
        sys.stdout.flush()
        buffer = getattr(sys.stdout, "buffer", None)
        if buffer is not None:
            buffer.write(what)
            buffer.flush()
        else:
            sys.stdout.write(what.decode("latin-1"))


@contextmanager
def _answer_or_refusal() -> Iterator[None]:
    """Give standard output up where it takes no more; that is a refusal unless only its reader has gone."""
    try:
        yield
    except BrokenPipeError:
        _give_up(sys.stdout)
    except OSError as error:
        _give_up(sys.stdout)
        raise AnswerLostError(
            f"the answer could not be written ({error.strerror})",
            hint=Hint("what was done is kept; see the current step: ", Command("resume")),
        ) from None


def tell(what: str) -> None:
    """Write to standard error, as far as that takes anything: talk is never worth failing for."""
    try:
        sys.stderr.write(what)
        sys.stderr.flush()
    except OSError:
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    """Send the rest of a stream nowhere; otherwise Python fails on it again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _fill_gaps() -> None:
    """Take the place of standard streams that were closed, before a journal gets their number.

    Input is at its end, talk goes nowhere, and an answer fails when it is written.
    """
    for number, how in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, how)  # the lowest free number, which is this one
    if not os.get_blocking(1):
        os.set_blocking(1, True)  # somebody shares it who does not wait; half an answer is none
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            stream = open(number, "w" if number else "r", encoding="utf-8", closefd=False)  # noqa: SIM115
            setattr(sys, name, stream)
