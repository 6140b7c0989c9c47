"""A disk that says no, or a process that dies, at the n-th call that changes something. In this process."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from unittest.mock import patch

CHANGING = ("write", "pwrite", "fsync", "replace", "rename", "mkdir", "link", "unlink", "ftruncate", "open")
DIE = "die"


class DiedError(BaseException):
    """The process has died: nothing that it did afterwards reached a disk."""


class Fault(NamedTuple):
    """What happens at which of the calls that change something: `DIE`, or the name of an error."""

    what: str
    at: int


class _Disk:
    def __init__(self, fault: Fault) -> None:
        self.fault, self.left, self.dead = fault, fault.at, False

    def around(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if name == "open" and not arguments[1] & os.O_CREAT:
                return real(*arguments, **named)
            if self.dead:
                raise DiedError
            self.left -= 1
            if self.left:
                return real(*arguments, **named)
            if name in {"write", "pwrite"}:  # half of it arrives
                fd, data, *more = arguments
                real(fd, bytes(data)[: len(data) // 2], *more)
            if self.fault.what == DIE:
                self.dead = True
                raise DiedError
            raise OSError(getattr(errno, self.fault.what), os.strerror(getattr(errno, self.fault.what)))

        return call


@contextmanager
def disturbed(fault: Fault | None) -> Iterator[None]:
    """Let *fault* happen meanwhile."""
    with ExitStack() as stack:
        if fault is not None:
            disk = _Disk(fault)
            for name in CHANGING:
                stack.enter_context(patch(f"os.{name}", disk.around(name, getattr(os, name))))
        yield
