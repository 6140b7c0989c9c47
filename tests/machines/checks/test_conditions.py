"""Conditions that never hold and rules that are never first, found by trying; gates without their review."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from support.random_workflows import workflows
from support.workflows import step, unchecked

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition.step_parts import GateConfig
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration.walks import plan

LEFT = {"left": Arg(type="integer", min=0, max=20, required=True)}
SURE = {"sure": Arg(choices=("low", "high"), required=True)}


def told(made: Workflow, code: str) -> list[tuple[str, str]]:
    found = check_workflow(made, advice=True)
    assert not [each for each in found if each.severity == "error"], found
    return [(str(each.step), each.message) for each in found if each.code == code]


def deciding(*rules: tuple[str, str | None], **parts: Any) -> Workflow:
    ways = parts.pop("ways", {"ok": "b", "iterate": "a", "skip": None})
    first = step("a", next=ways, rules=[(outcome, when) for outcome, when in rules], **{"limit": 3, **parts})
    return unchecked(first, step("b"), params={"mode": Arg(choices=("quick", "full"), default="full")})


@pytest.mark.parametrize(
    ("rules", "reports", "never"),
    [
        ([("ok", "left < 5"), ("skip", "left == 0"), ("iterate", None)], LEFT, ["rule 2"]),
        ([("skip", "left == 0"), ("ok", "left < 5"), ("iterate", None)], LEFT, []),
        ([("ok", "left > 20"), ("iterate", None)], LEFT, ["rule 1"]),
        ([("ok", "left > 19 and left < 19"), ("iterate", None)], LEFT, ["rule 1"]),
        ([("ok", "sure == 'high'"), ("skip", "sure == 'low'"), ("iterate", None)], SURE, []),
        ([("ok", "sure == 'high' or sure == 'low'"), ("skip", "sure != 'low'"), ("iterate", None)], SURE, ["rule 2"]),
        ([("ok", "sure == 'high' and mode == 'quick'"), ("iterate", None)], SURE, []),
        ([("ok", "sure == null"), ("iterate", None)], SURE, ["rule 1"]),
        ([("ok", "sure == null"), ("iterate", None)], {"sure": Arg(choices=("low", "high"))}, []),
        ([("ok", "visit > 2"), ("iterate", None)], SURE, []),
        ([("ok", "visit > 3"), ("iterate", None)], SURE, ["rule 1"]),
        ([("ok", "visit == limit"), ("iterate", None)], SURE, []),
        ([("ok", "left > other"), ("iterate", None)], {**LEFT, "other": Arg(type="integer", required=True)}, []),
        ([("ok", "'x' in note"), ("iterate", None)], {"note": Arg(type="list", required=True)}, []),
        ([("ok", "note == 'anything'"), ("iterate", None)], {"note": Arg(required=True)}, []),
    ],
)  # fmt: skip
def test_rules_that_are_never_the_first_to_hold_are_found(
    rules: list[tuple[str, str | None]], reports: dict[str, Arg], never: list[str]
) -> None:
    found = told(deciding(*rules, reports=reports), "FR177")

    assert [message.partition(" of step")[0] for _, message in found] == never


def test_conditions_of_steps_and_variants_are_tried_too() -> None:
    made = unchecked(
        step("a", next={"ok": "b"}, reports=SURE),
        step("b", when="sure == 'high' and sure == 'low'", next={"ok": "c"}),
        step("c", variants=[("mode == 'full' and mode == 'quick'", "Other.")]),
        params={"mode": Arg(choices=("quick", "full"), default="full")},
    )

    assert [where for where, _ in told(made, "FR177")] == ["b", "c"]


@pytest.mark.parametrize(
    ("fix", "check", "found"),
    [
        ({"ok": "review"}, {"ok": "gate"}, []),
        ({"ok": "gate"}, {"ok": "gate"}, ["after it failed"]),
        ({"ok": "review", "skip": "gate"}, {"ok": "gate"}, ["after it failed"]),
    ],
)
def test_gates_that_a_run_comes_to_without_their_review_are_found(
    fix: dict[str, str], check: dict[str, str], found: list[str]
) -> None:
    made = unchecked(
        step("plan", next={"ok": "review"}),
        step("review", next=check),
        step("gate", gate=GateConfig("Plan", review="review"), next={"ok": None, "fail": "fix"}),
        step("fix", next={**fix, "fail": "review"}),
    )

    assert [message.partition(" a run")[0] for _, message in told(made, "FR178")] == found


@settings(max_examples=10)
@given(workflows(most=4, functions=False))
def test_what_is_said_never_to_hold_is_never_seen_in_a_walk(made: Workflow) -> None:
    found = check_workflow(made, advice=True)

    never = {each.step for each in found if each.code == "FR177" and each.message.startswith("`when`")}
    assert never <= set(plan(made).unentered)
