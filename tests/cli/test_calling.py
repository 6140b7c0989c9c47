"""An author's function under a command: limited in time, kept off the answer."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import suppress

import pytest

from flowrail.cli.calling import HandlerTimeoutError, call_limited
from flowrail.machines.definition import StepContext
from flowrail.machines.judgement import HandlerError

HERE = StepContext("first")


def test_what_a_function_returns_is_returned() -> None:
    assert call_limited(lambda ctx, more: (ctx.step_id, more), HERE, {"more": 1}) == ("first", 1)


def test_what_a_function_prints_goes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    call_limited(lambda _: print("printed"), HERE, {})  # noqa: T201 - that is what is tried

    assert capsys.readouterr() == ("", "printed\n")


def test_a_function_that_takes_too_long_is_stopped() -> None:
    def hang(_: StepContext) -> None:
        while True:
            pass

    begun = time.monotonic()
    with pytest.raises(HandlerTimeoutError, match=r"hang` took more than 0\.05 seconds") as caught:
        call_limited(hang, HERE, {}, seconds=0.05)

    assert time.monotonic() - begun < 2
    assert (caught.value.code, caught.value.exit_status) == ("HANDLER_TIMEOUT", 1)


def test_a_function_that_waits_is_stopped() -> None:
    with pytest.raises(HandlerTimeoutError):
        call_limited(lambda _: time.sleep(30), HERE, {}, seconds=0.05)


def test_a_function_that_catches_everything_is_stopped_all_the_same() -> None:
    def stubborn(_: StepContext) -> None:
        end = time.monotonic() + 5
        while time.monotonic() < end:
            with suppress(Exception):
                time.sleep(5)

    begun = time.monotonic()
    with pytest.raises(HandlerTimeoutError):
        call_limited(stubborn, HERE, {}, seconds=0.05)
    assert time.monotonic() - begun < 3


def test_what_a_function_raises_is_one_line() -> None:
    def broken(_: StepContext) -> None:
        raise ValueError("one\ntwo")

    with pytest.raises(HandlerError, match=r"broken` raised ValueError: one two \(.*test_calling\.py:\d+\)$"):
        call_limited(broken, HERE, {})


def test_the_alarm_is_put_away_again() -> None:
    before = signal.getsignal(signal.SIGALRM)

    for function in (lambda _: 1, lambda _: 1 / 0):
        with suppress(HandlerError):
            call_limited(function, HERE, {}, seconds=5)

    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_in_a_thread_a_function_is_called_without_an_alarm() -> None:
    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(call_limited(lambda ctx: ctx.step_id, HERE, {})))

    thread.start()
    thread.join()

    assert done == ["first"]
