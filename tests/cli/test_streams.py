"""Only the answer goes to standard output; everything else that is printed goes to standard error."""

from __future__ import annotations

import os
import sys

import pytest

from flowrail.cli import output


def say(what: str) -> None:
    """Print as an author's code would, and as a program that it starts would."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()
    os.write(1, f"{what} below\n".encode())


def test_what_is_printed_before_the_answer_is_kept_apart(capfd: pytest.CaptureFixture[str]) -> None:
    with output.answering():
        output.keep_apart()
        say("noise")
        output.put("answer\n")
        say("after")

    out, err = capfd.readouterr()
    assert out.splitlines() == ["answer", "after", "after below"]
    assert sorted(err.splitlines()) == ["noise", "noise below"]
