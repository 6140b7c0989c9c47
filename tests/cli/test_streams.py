"""Only the answer goes to standard output; everything else that is printed goes to standard error."""

from __future__ import annotations

import json
import os
import sys
from contextlib import redirect_stdout
from io import StringIO

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


class Pieces(StringIO):
    """Keeps what is written as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[str] = []

    def write(self, what: str) -> int:
        """Take note of a piece."""
        self.written.append(what)
        return len(what)


def test_a_long_list_is_told_in_pieces() -> None:
    with redirect_stdout(Pieces()) as told_in:
        output.listed("steps", (["x" * 1_000] for _ in range(500)), dict)

    assert json.loads("".join(told_in.written)) == {"steps": [["x" * 1_000]] * 500}
    assert max(map(len, told_in.written)) < 70_000
