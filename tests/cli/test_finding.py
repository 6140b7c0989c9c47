"""`flow finding`: a finding is recorded in the session whose gate decides."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.dispatching_skill import REVIEW, put_lead
from support.sandbox import refused, told


@pytest.fixture
def session() -> str:
    put_lead("review", REVIEW)
    begun = told("step", "review", "--new")
    told("step", "review", "ok")
    return str(begun["session"])


def add(session: str, *words: str, stdin: bytes = b"") -> Any:
    return told("finding", "add", session, *words, stdin=stdin)


def test_a_long_text_comes_from_a_file(session: str) -> None:
    Path("text").write_text("wrong\nin two lines\n")

    assert add(session, "--severity", "SHOULD", "--file", "text")["text"] == "wrong\nin two lines"
    assert add(session, "--severity", "SHOULD", "--file", "-", stdin=b"from stdin")["text"] == "from stdin"


def test_whoever_leads_takes_no_finding_of_its_reviewer_away() -> None:
    put_lead("review", REVIEW.replace("workflow: NAME/one, vars: {area: all}", "vars: {depth: 1}"))
    session = told("step", "review", "--new")["session"]
    told("step", "review", "ok")
    reviewer = told("step", "--session", session + ".1.1")["session"]
    add(reviewer, "--severity", "MUST", "--text", "wrong")
    add(reviewer, "--severity", "COULD", "--text", "taste")

    status, error = refused("finding", "resolve", session, "F1")
    assert (status, error["code"]) == (4, "ROUND_CLOSED")
    assert told("finding", "resolve", reviewer, "F2")["open"] is False
    told("step", "fail", "--session", reviewer, "-s", "reason=see F1")
    assert refused("finding", "resolve", reviewer, "F1")[1]["code"] == "SESSION_ENDED"
    assert refused("finding", "resolve", session, "F1")[1]["code"] == "ROUND_CLOSED"
    told("step", "review", "ok")
    assert told("step", "review", "done")["step"]["id"] == "work"
    assert told("finding", "resolve", session, "F1", "--note", "fixed")["open"] is False
