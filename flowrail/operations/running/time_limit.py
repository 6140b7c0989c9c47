"""An author's function called from a command: under a time limit, its output kept off the answer."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stdout

from flowrail.machines.definition.step import StepContext
from flowrail.machines.engine.outcome import (
    HandlerError,
    StoppedFromOutside,
    call_plainly,
    caller,
    function_name,
)

SECONDS = 30.0


class HandlerTimeoutError(HandlerError):
    """An author's function took too long."""

    code = "HANDLER_TIMEOUT"


class _TimeIsUp(StoppedFromOutside):
    """The time is up."""


def call_limited(
    function: Callable[..., object],
    context: StepContext,
    arguments: Mapping[str, object],
    *,
    seconds: float | None = None,
) -> object:
    """Call *function*; what it prints goes to stderr, and after *seconds* it is stopped."""
    seconds = SECONDS if seconds is None else seconds
    try:
        with redirect_stdout(sys.stderr), _alarm(seconds):
            return call_plainly(function, context, arguments)
    except _TimeIsUp:
        raise HandlerTimeoutError(
            f"{function_name(function)} took more than {seconds:g} seconds",
            hint="the session did not move; make the function faster, then report again",
            seconds=seconds,
        ) from None


def limit_functions() -> Callable[[], None]:
    """Call each function of an author under a time limit from here on; the result takes that back."""
    before = caller.set(call_limited)
    return lambda: caller.reset(before)


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach the main thread only; whoever runs threads limits them
        return
    import signal  # 0.5 ms, for workflows with functions only

    def ring(_number: int, _frame: object) -> None:
        raise _TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
