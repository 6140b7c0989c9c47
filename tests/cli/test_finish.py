"""`flow finish`: the result of a free-form agent, taken once, by its token."""

from __future__ import annotations

import json
import shlex
from typing import Any

import pytest
from support.dispatching_skill import FREE, put_lead
from support.sandbox import flow, refused, told


@pytest.fixture
def begun() -> Any:
    put_lead("free", FREE)
    return told("start", "free")


def claim(begun: Any, number: int = 1) -> Any:
    return told("claim", begun["session"], f"d0-{number}")


def test_a_result_is_taken_and_the_lines_to_answer_with_are_printed(begun: Any) -> None:
    handed = claim(begun)

    out = flow(*shlex.split(handed["finish"][0])[1:], "-s", "found=a <b>", "-s", "n=2").out

    first, facts, following = out.splitlines()
    assert first == "RESULT ok: dispatch d0-1"
    assert json.loads(facts.removeprefix("FACTS ")) == {"found": "a <b>", "n": "2"}
    assert following.startswith(
        f"NEXT for the agent that launched this one: flow resume {begun['session']} --store "
    )
    status = told("status", begun["session"])
    assert status["dispatches"][0]["result"] == {"found": "a <b>", "n": "2"}
    assert status["join"]["succeeded"] == 1


def test_work_is_called_off_without_a_token(begun: Any) -> None:
    handed = claim(begun)

    off = told("finish", begun["session"], "d0-1", "--cancel")

    assert (off["status"], off["outcome"]) == ("cancelled", None)
    assert refused(*shlex.split(handed["finish"][0])[1:])[0] == 4
    assert "RESULT cancelled: dispatch d0-1" in flow("finish", begun["session"], "d0-1", "--cancel").out


def test_a_long_result_is_kept_whole_and_told_in_short(begun: Any) -> None:
    handed = claim(begun)
    long = "x" * 20_000

    out = flow(*shlex.split(handed["finish"][0])[1:], "-s", f"found={long}", "-s", "n=2").out

    facts = json.loads(out.splitlines()[1].removeprefix("FACTS "))
    assert facts["n"] == "2"
    assert facts["found"].startswith("(20002 bytes: flow status ")
    assert len(out) < 1_000
    assert told("status", begun["session"])["dispatches"][0]["result"]["found"] == long


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["ok"], "USAGE"),
        (["maybe", "--token", "x"], "USAGE"),
        (["ok", "--token", "x", "-s", "found"], "USAGE"),
    ],
)
def test_wrong_use_is_told(begun: Any, words: list[str], code: str) -> None:
    claim(begun)

    status, error = refused("finish", begun["session"], "d0-1", *words)

    assert (status, error["code"]) == (2, code)
