"""`flow diagram`: workflows and sessions drawn in every format, printed or written."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import ASKING, SMALL, flow, put_skill, refused, told


@pytest.mark.parametrize(
    ("file", "start"), [("a.mmd", "flowchart TD\n"), ("a.svg", "<svg "), ("a.md", "| # | Step |")]
)
def test_a_workflow_is_drawn_in_every_format_the_same_each_time(file: str, start: str) -> None:
    put_skill("asking", ASKING)

    ran = flow("diagram", "asking", "-o", file)
    drawn = Path(file).read_text()

    assert (ran.status, ran.out, ran.err) == (0, "", f"flow: written to {file}\n")
    assert drawn.startswith(start)
    flow("diagram", "asking", "-o", file)
    assert Path(file).read_text() == drawn


@pytest.mark.parametrize("file", ["a.mmd", "a.svg", "a.md"])
def test_a_session_is_shown_on_it_in_every_format(file: str) -> None:
    put_skill("asking", ASKING)
    session = told("step", "asking")["session"]
    told("step", "asking", "done", "-s", "sure=low", "-s", "where=a")

    flow("diagram", "--session", session, "-o", file)

    assert "entered twice" in Path(file).read_text().replace("</text>", "\n")


def test_a_picture_that_no_longer_matches_its_workflow_is_found() -> None:
    put_skill("small")
    flow("diagram", "small", "-o", "small.svg")
    before = Path("small.svg").read_bytes()
    assert flow("diagram", "small", "--check", "small.svg").status == 0

    put_skill("small", SMALL.replace("Second", "Last"))
    status, error = refused("diagram", "small", "--check", "small.svg")

    assert (status, error["code"]) == (1, "PICTURE_OUTDATED")
    assert error["hint"] == "write it again: flow diagram small --output small.svg"
    assert Path("small.svg").read_bytes() == before


def test_an_unknown_format_is_refused_before_anything_is_written() -> None:
    put_skill("small")

    assert refused("diagram", "small", "-o", "small.bmp")[1]["message"] == "unknown picture format `bmp`"
    assert refused("diagram", "small", "--check", "small.svg", "-o", "other.svg")[0] == 2
    assert not Path("small.bmp").exists()
