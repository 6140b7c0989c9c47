"""Standard output is the answer's; whatever else prints goes to standard error."""

from __future__ import annotations

import gc
import json
import os
import sys
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.documents import PLAIN_DATA
from support.sandbox import flow

from flowrail.cli import output, streams


def say(what: str) -> None:
    """Print as an author's code would, and as a program that it starts would."""
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()
    os.write(1, f"{what} below\n".encode())


def test_what_is_printed_before_the_answer_is_kept_apart(capfd: pytest.CaptureFixture[str]) -> None:
    with streams.answering():
        streams.keep_apart()
        say("noise")
        streams.put("answer\n")
        say("after")

    out, err = capfd.readouterr()
    assert out.splitlines() == ["answer", "after", "after below"]
    assert sorted(err.splitlines()) == ["noise", "noise below"]


def test_keeping_apart_twice_is_undone_by_one_answer(capfd: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout
    with streams.answering():
        for _ in range(3):
            streams.keep_apart()
            say("noise")
        streams.put("answer\n")
        assert sys.stdout is before
        streams.keep_apart()
        say("noise")
        streams.together()

    out, err = capfd.readouterr()
    assert out == "answer\n"
    assert len(err.splitlines()) == 8


def test_a_command_without_an_answer_gives_standard_output_back(capfd: pytest.CaptureFixture[str]) -> None:
    with suppress(ZeroDivisionError), streams.answering():
        streams.keep_apart()
        raise ZeroDivisionError

    say("afterwards")
    assert capfd.readouterr().out.splitlines() == ["afterwards", "afterwards below"]


def test_outside_a_command_standard_output_is_left_alone(capfd: pytest.CaptureFixture[str]) -> None:
    streams.keep_apart()
    say("mine")
    streams.together()

    out, err = capfd.readouterr()
    assert (out.splitlines(), err) == (["mine", "mine below"], "")


def test_no_descriptor_is_left_open() -> None:
    before = os.dup(0)
    os.close(before)

    for _ in range(3):
        with streams.answering():
            streams.keep_apart()
            streams.keep_apart()

    after = os.dup(0)
    os.close(after)
    assert after == before


@given(st.lists(PLAIN_DATA, max_size=4), st.dictionaries(st.text(max_size=5), PLAIN_DATA, max_size=2))
def test_a_list_that_is_told_item_by_item_reads_as_if_told_at_once(
    items: list[Any], after: dict[str, Any]
) -> None:
    after.pop("steps", None)

    with redirect_stdout(StringIO()) as apart:
        output.listed("steps", iter(items), lambda: after)
    with redirect_stdout(StringIO()) as whole:
        output.data({"steps": items, **after})

    assert apart.getvalue() == whole.getvalue()


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


def test_a_long_list_leaves_no_garbage_behind() -> None:
    gc.collect()
    gc.disable()  # as in a command
    try:
        with redirect_stdout(StringIO()):
            output.listed("steps", ([number] for number in range(5_000)), dict)
        left = gc.collect()
    finally:
        gc.unfreeze()
        gc.enable()

    assert left < 5_000


@pytest.mark.parametrize("words", [["session", "verify"], ["audit", "verify"]])
def test_what_goes_through_every_session_collects_its_garbage(words: list[str]) -> None:
    gc.collect()
    gc.disable()  # as in a command
    try:
        ran = flow(*words)
        collects = gc.isenabled()
    finally:
        gc.unfreeze()
        gc.enable()

    assert (ran.status, collects) == (0, True)


def test_lines_are_told_in_pieces_as_the_text_that_they_are() -> None:
    lines = [f"{number}\u202e{'x' * 1_000}" for number in range(500)]

    with redirect_stdout(Pieces()) as told_in:
        output.lines(iter(lines))
    with redirect_stdout(StringIO()) as whole:
        output.text("\n".join(lines))

    assert "".join(told_in.written) == whole.getvalue()
    assert max(map(len, told_in.written)) < 70_000
