"""A command killed at its n-th call to the system, as a power cut or `kill -9` would."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from unittest.mock import patch

from support.sandbox import flow

_CHANGING = ("write", "pwrite", "fsync", "replace", "mkdir", "link", "unlink", "ftruncate", "open")


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


def killed_at_every_call(words: Sequence[str]) -> Iterator[int]:
    """Run a command again and again, killed one call later each time, until it ends by itself.

    Yields after each death; whoever asks looks at what is left, and puts it in order.
    """
    at = 1
    while _killed(words, at):
        yield at
        at += 1
    assert at > 1, "nothing was killed"


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
