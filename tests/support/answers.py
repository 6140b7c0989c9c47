"""Run a command on hostile input and check its answer: complete, in time, and without hidden characters."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from xml.etree import ElementTree as ET

from support.sandbox import Ran, flow

from flowrail.text.safe_text import visible

LONGEST_LINE = 20_000
"""Longer than any line of an error."""


def checked(*words: str, stdin: bytes = b"") -> Ran:
    """Run a command, and return its answer or error after checking its form."""
    with time_limit(" ".join(words)):
        ran = flow(*words, stdin=stdin)
    assert ran.status in range(8), (words, ran.status, ran.err[:500])
    assert "Traceback" not in ran.out + ran.err, words
    for text in (ran.out, ran.err):
        assert visible(text) == text, (words, text[:500])
    assert max(map(len, ran.err.splitlines()), default=0) <= LONGEST_LINE, words
    if "--json" in words:
        error = ran.data.get("error") if ran.status else None
        assert error is None or (error["code"].isupper() and error["message"] and error["hint"]), error
    elif "xml" in words and ran.out:
        ET.fromstring(ran.out)  # noqa: S314 - our own output, which must be well-formed
    return ran


@contextmanager
def time_limit(what: str, seconds: int = 30) -> Iterator[None]:
    """Fail if the body runs far longer than any command needs."""

    def fail(_number: int, _frame: object) -> None:
        raise AssertionError(f"hangs: {what}")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
