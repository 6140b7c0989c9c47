"""`flow show SKILL STEP`: what a step prints, and the three parts at a gate."""

from __future__ import annotations

import pytest
from support.dispatching_skill import REVIEW, put_lead
from support.sandbox import flow, told


@pytest.fixture(autouse=True)
def _skill() -> None:
    put_lead("loop", REVIEW)


def test_what_a_step_would_hand_out_is_shown_without_commands() -> None:
    previewed = told("show", "loop", "2")

    assert previewed["work"]["workflow"] == "loop/one"
    assert [(work["vars"], work["command"]) for work in previewed["dispatches"]] == [({"area": "all"}, None)]
    assert "flow claim" not in flow("show", "loop", "2").out


def test_what_a_step_would_ask_is_shown_without_commands() -> None:
    previewed = told("show", "doc-sync", "plan")

    assert [option["label"] for option in previewed["questions"][0]["options"]] == ["Approve", "Rework"]
    for form in ("xml", "text"):
        out = flow("show", "doc-sync", "plan", "--format", form).out
        assert "Rework" in out
        assert "flow answer" not in out
