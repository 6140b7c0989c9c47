"""`flow skill preview` for users of the former scripts: the same options, the same three parts at a gate."""

from __future__ import annotations

import pytest
from support.dispatching_skill import REVIEW, put_lead
from support.sandbox import ASKING, flow, put_skill, told


@pytest.fixture(autouse=True)
def _skill() -> None:
    put_lead("loop", REVIEW)


def test_what_a_step_would_hand_out_is_shown_without_commands() -> None:
    previewed = told("skill", "preview", "loop", "--step", "2")

    assert [
        (dispatch["workflow"], dispatch["vars"], dispatch["command"]) for dispatch in previewed["dispatches"]
    ] == [("loop/one", {"area": "all"}, None)]
    assert "flow claim" not in flow("skill", "preview", "loop", "2").out


def test_transitions_that_differ_in_a_fact_show_it() -> None:
    put_skill("asking", ASKING)

    out = flow("skill", "preview", "asking", "look").out

    assert ['facts="sure=low"' in out, 'facts="sure=high"' in out] == [True, True]


def test_what_a_step_would_ask_is_shown_without_commands() -> None:
    previewed = told("skill", "preview", "doc-sync", "plan")

    assert [option["label"] for option in previewed["questions"][0]["options"]] == ["Approve", "Rework"]
    for form in ("xml", "text"):
        out = flow("skill", "preview", "doc-sync", "plan", "--format", form).out
        assert "Rework" in out
        assert "flow answer" not in out


@pytest.mark.parametrize(
    ("words", "mode", "to"),
    [
        (["--step", "3"], "review", None),
        (["--step", "3", "--qr-status", "pass"], "passed", None),
        (["--step", "3", "--qr-status", "fail"], "failed", "work"),
        (["--step", "3", "--qr-status", "fail", "--qr-iteration", "4"], "failed", "work"),
        (["--step", "3", "--qr-status", "fail", "--qr-iteration", "5"], "ask-user", None),
        (["--step", "1", "--qr-fail", "--qr-iteration", "3"], "fix", "review"),
        (["--step", "2", "--qr-iteration", "3"], "re-verify", "gate"),
    ],
)
def test_a_review_loop_is_shown_in_its_state(words: list[str], mode: str, to: str | None) -> None:
    previewed = told("skill", "preview", "loop", *words)

    assert previewed["loop"]["mode"] == mode
    assert {transition["to"] for transition in previewed["next"]} == {to}
    assert {transition["command"] for transition in previewed["next"]} == {None}
    assert previewed["findings"] == []
    for form in ("xml", "text"):
        assert f'mode="{mode}"' in flow("skill", "preview", "loop", *words, "--format", form).out
