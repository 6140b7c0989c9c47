"""Workflows up to the largest that a session keeps."""

from __future__ import annotations

import pytest
from support.sandbox import (
    bytes_below,
    flow,
    home_skills,
    put_skill,
    refused,
    sessions_folder,
    told,
)

from flowrail.machines.sessions import limits

LARGE = """\
from flowrail import Outcome, StepDef, Workflow
WORKFLOW = Workflow(
    "large",
    *(StepDef(f"s{n}", "S", ["{} " * 20_000], next={Outcome.OK: f"s{n + 1}"}) for n in range(COUNT)),
    StepDef("sCOUNT", "Last", ["Tell it."], next={Outcome.OK: None}),
)
"""
EACH = 60_000


def large(size: int) -> None:
    """Write a workflow whose texts have about *size* bytes, many braces among them."""
    put_skill("large", LARGE.replace("COUNT", str(size // EACH)), where=home_skills(), file="workflow.py")


def test_what_begins_can_be_gone_on_with_however_large_its_texts_are() -> None:
    large(limits.LARGEST_DEFINITION - EACH)

    session = str(told("start", "large")["session"])

    assert told("step", "large", "ok")["step"]["id"] == "s1"
    assert told("session", "fork", session, "--at", "0")["step"]["id"] == "s0"
    assert flow("session", "verify", session).status == 0


def test_a_workflow_that_is_too_large_to_keep_is_refused_before_anything_is_written() -> None:
    large(limits.LARGEST_DEFINITION + EACH)

    status, error = refused("start", "large")

    assert status == 3
    assert "a session keeps at most" in error["message"]
    assert "split the workflow" in error["hint"]
    assert not sessions_folder().exists()


@pytest.mark.parametrize("words", [["step", "large", "ok"], ["session", "migrate", "SESSION"]])
def test_a_workflow_that_grows_too_large_leaves_its_session_as_it_was(words: list[str]) -> None:
    large(EACH)
    session = str(told("start", "large")["session"])
    large(limits.LARGEST_DEFINITION + EACH)

    before = bytes_below(sessions_folder(), {"lock"})

    status, error = refused(*(session if word == "SESSION" else word for word in words))

    assert (status, error["code"]) == (3, "TOO_LARGE")
    assert bytes_below(sessions_folder(), {"lock"}) == before
    large(EACH)
    assert told("step", "large", "ok")["step"]["id"] == "s1"
