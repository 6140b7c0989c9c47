"""A command killed at its n-th call to the system, as a power cut or `kill -9` would."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any
from unittest.mock import patch

import pytest
from support.sandbox import flow

from flowrail.cli.main import main

_CHANGING = ("write", "pwrite", "fsync", "replace", "mkdir", "link", "unlink", "ftruncate", "open")

every_few_calls = pytest.mark.parametrize(
    "stride", [7, pytest.param(1, marks=pytest.mark.long)], ids=["some calls", "every call"]
)
"""Kills a command at some of its calls, and in the long form at each of them."""


class _Killer:
    """Counts calls that may change files, and kills its process in the middle of one."""

    def __init__(self, at: int) -> None:
        self.left = at

    def around(self, name: str) -> Callable[..., Any]:
        real = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left > 0:
                return real(*arguments, **named)
            if name in {"write", "pwrite"}:  # half of it arrives
                fd, data, *more = arguments
                real(fd, bytes(data)[: max(1, len(data) // 2)], *more)
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        return call


def killed_at_calls(words: Sequence[str], stride: int = 1) -> Iterator[int]:
    """Run a command again and again, killed *stride* calls later each time, until it ends by itself.

    Yields after each death. The caller examines what is left and restores it.
    """
    at = 1
    while _killed(words, at):
        yield at
        at += stride
    assert at > 1, "nothing was killed"


def killed_after(words: Sequence[str], seconds: float) -> tuple[bool, str]:
    """Run a command in a child of this process, killed after some time; return whether it was, and its answer.

    A child is as warm as this process is, so that nearly all of the time is that of the command's own work.
    """
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        with suppress(BaseException):
            os.close(reader)
            os.dup2(writer, 1)
            with open(1, "w", encoding="utf-8", closefd=False) as out, redirect_stdout(out):
                main(list(words))
        os._exit(0)
    os.close(writer)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    with open(reader, encoding="utf-8") as stream:
        return os.WIFSIGNALED(status), stream.read()


def together(jobs: list[Callable[[], None]]) -> None:
    """Run *jobs* at once, each in a process of its own, and hold that all of them end well."""
    children = []
    for job in jobs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            status = 1
            with suppress(BaseException):
                try:
                    job()
                    status = 0
                except BaseException as error:  # noqa: BLE001 - written by the child, judged by the parent
                    sys.__stderr__.write(f"{type(error).__name__}: {error}\n"[:2000])  # type: ignore[union-attr]
            os._exit(status)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * len(children)


def killed_at_statement(words: Sequence[str], at: int) -> bool:
    """Run a command in a child that is killed at its *at*-th moment with a database; return whether it was.

    Moments are before and after each statement, before each commit, and when a connection is no longer used.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        with suppress(BaseException), at_moment(at, lambda _: os.kill(os.getpid(), signal.SIGKILL)):
            flow(*words)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


@contextmanager
def at_moment(at: int, strike: Callable[[Any], object]) -> Iterator[list[int]]:
    """Call *strike* with the connection at the *at*-th moment of this process with a database; yield how many are left."""
    from sqlalchemy import Engine, event  # an extra
    from sqlalchemy.pool import Pool

    from flowrail.storage.database import Database

    left = [at]
    execute = Database.execute

    def moment(connection: Any, *_: object) -> None:
        left[0] -= 1
        if left[0] == 0:
            strike(connection)

    def with_moments(database: Database, connection: Any, text: str, parameters: Any) -> Any:
        moment(connection)
        cursor = execute(database, connection, text, parameters)
        moment(connection)
        return cursor

    moments = [
        (Engine, "before_cursor_execute"),
        (Engine, "after_cursor_execute"),
        (Engine, "commit"),
        (Pool, "checkin"),
    ]
    for target, name in moments:
        event.listen(target, name, moment)
    try:
        with patch.object(Database, "execute", with_moments):
            yield left
    finally:
        for target, name in moments:
            event.remove(target, name, moment)


def _killed(words: Sequence[str], at: int) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child does one thing and dies
        child = os.fork()
    if child == 0:
        with suppress(BaseException):
            _run_until(words, at)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _run_until(words: Sequence[str], at: int) -> None:
    killer = _Killer(at)
    for name in _CHANGING:
        patch(f"os.{name}", killer.around(name)).start()
    ran = flow(*words)
    sys.stderr.write(ran.err)
