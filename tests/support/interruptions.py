"""Commands that are killed, and disks that fail, at the n-th call that changes a file or the n-th statement of a database."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, redirect_stdout, suppress
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from support.sandbox import flow

from flowrail.cli.main import main

CHANGING = ("write", "pwrite", "fsync", "replace", "rename", "mkdir", "link", "unlink", "ftruncate", "open")
"""The functions of `os` that change files."""
DIE, KILL = "die", "kill"

every_few_calls = pytest.mark.parametrize(
    "stride", [7, pytest.param(1, marks=pytest.mark.long)], ids=["some calls", "every call"]
)
"""Kills a command at some of its calls, and in the long form at each of them."""


class DiedError(BaseException):
    """The process has died: nothing that it does afterwards reaches the disk."""


class Fault(NamedTuple):
    """The effect of the call with this number (0: none): `DIE` in this process, `KILL` the process, or an error."""

    effect: str
    number: int


class Disk:
    """The functions of `os` with a fault at one call; ``left`` is above 0 as long as it has not happened."""

    def __init__(self, fault: Fault) -> None:
        self.fault, self.left, self.dead = fault, fault.number, False

    def around(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return real(*arguments, **named)
            if self.dead:
                raise DiedError
            self.left -= 1
            if self.left:
                return real(*arguments, **named)
            if name in {"write", "pwrite"}:  # half of the data arrives
                fd, data, *more = arguments
                real(fd, bytes(data)[: len(data) // 2], *more)
            if self.fault.effect == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            if self.fault.effect == DIE:
                self.dead = True
                raise DiedError
            number = getattr(errno, self.fault.effect)
            raise OSError(number, os.strerror(number))

        return call


@contextmanager
def disturbed(fault: Fault) -> Iterator[Disk]:
    """Let *fault* happen in this process."""
    disk = Disk(fault)
    with ExitStack() as stack:
        for name in CHANGING:
            stack.enter_context(patch(f"os.{name}", disk.around(name)))
        yield disk


def killed_at_calls(words: Sequence[str], stride: int = 1) -> Iterator[int]:
    """Run a command repeatedly, killed *stride* calls later each time, until it ends by itself.

    Yields after each death. The caller examines what is left and restores it.
    """

    def run() -> None:
        with disturbed(Fault(KILL, number)):
            sys.stderr.write(flow(*words).err)

    number = 1
    while _was_killed(run):
        yield number
        number += stride
    assert number > 1, "nothing was killed"


def killed_after(words: Sequence[str], seconds: float) -> tuple[bool, str]:
    """Run a command in a child of this process, and kill it after some time. Return whether it was killed, and its answer.

    A child has everything imported, so that nearly all of the time is that of the command's own work.
    """
    reader, writer = os.pipe()

    def answer() -> None:
        os.close(reader)
        os.dup2(writer, 1)
        with open(1, "w", encoding="utf-8", closefd=False) as out, redirect_stdout(out):
            main(list(words))

    child = fork(answer)
    os.close(writer)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with open(reader, encoding="utf-8") as stream:
        return os.WIFSIGNALED(status), stream.read()


def together(jobs: list[Callable[[], None]]) -> None:
    """Run *jobs* at the same time, each in a process of its own, and check that all of them succeed."""
    children = [fork(job) for job in jobs]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)


def killed_at_statement(words: Sequence[str], number: int) -> bool:
    """Run a command in a child that is killed at a moment of its database; return whether it was."""

    def run() -> None:
        with at_moment(number, lambda _: os.kill(os.getpid(), signal.SIGKILL)):
            flow(*words)

    return _was_killed(run)


@contextmanager
def at_moment(number: int, strike: Callable[[Any], object]) -> Iterator[list[int]]:
    """Call *strike* with the connection at a moment of the databases of this process; yield how many are left.

    A moment is before or after a statement, before a commit, or after the last use of a connection.
    """
    from sqlalchemy import Engine, event  # an extra
    from sqlalchemy.pool import Pool

    left = [number]

    def moment(connection: Any, *_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            strike(connection)

    moments = [
        (Engine, "before_cursor_execute"),
        (Engine, "after_cursor_execute"),
        (Engine, "commit"),
        (Pool, "checkin"),
    ]
    for target, name in moments:
        event.listen(target, name, moment)
    try:
        yield left
    finally:
        for target, name in moments:
            event.remove(target, name, moment)


def fork(run: Callable[[], object]) -> int:
    """Run something in a child process, whose errors are printed, and return the id of the process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child does one thing and ends
        child = os.fork()
    if child == 0:
        status = 1
        with suppress(BaseException):
            try:
                run()
                status = 0
            except BaseException as error:  # noqa: BLE001 - the parent checks the status
                sys.__stderr__.write(f"{type(error).__name__}: {error}\n"[:2000])  # type: ignore[union-attr]
        os._exit(status)
    return child


def _was_killed(run: Callable[[], object]) -> bool:
    _, status = os.waitpid(fork(run), 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL
