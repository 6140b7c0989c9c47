"""`flow show SKILL STEP`: what a step prints, without a session."""

from __future__ import annotations

import pytest
from support.dispatching_skill import REVIEW, put_lead
from support.sandbox import ASKING, flow, put_skill, refused, told


def test_a_step_is_shown_with_defaults_and_its_commands_name_no_session() -> None:
    put_skill("asking", ASKING)

    shown = told("show", "asking", "look")

    assert (shown["step"]["title"], shown["actions"]) == ("Look at nothing", ["Look at it, 3 times."])
    assert "--session SESSION" in shown["next"][0]["command"]


def test_values_and_the_attempt_may_be_supposed() -> None:
    put_skill("asking", ASKING)

    shown = told("show", "asking", "look", "-p", "topic=login", "-p", "size=1", "--attempt", "3")
    after = told("show", "asking", "tell", "-s", "sure=low", "-s", "where=a,b")

    assert (shown["step"]["title"], shown["step"]["attempt"]) == ("Look at login", 3)
    assert after["actions"] == ["Sure: low, where: a, b."]


def test_what_a_step_would_hand_out_and_ask_is_shown() -> None:
    put_lead("loop", REVIEW)

    previewed = told("show", "loop", "2")

    assert [work["vars"] for work in previewed["dispatches"]] == [{"area": "all"}]
    for form in ("xml", "text"):
        assert "Rework" in flow("show", "doc-sync", "plan", "--format", form).out


@pytest.mark.parametrize("step", ["0", "6", "²", "Investigate"])
def test_an_unknown_step_is_refused_with_near_ones(step: str) -> None:
    status, error = refused("show", "problem-analysis", step)

    assert (status, error["code"]) == (2, "UNKNOWN_STEP")
    assert error["details"]["known"] == ["gate", "hypothesize", "investigate", "formulate", "output"]
