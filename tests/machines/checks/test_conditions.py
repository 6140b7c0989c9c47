"""Conditions that never hold and rules that are never first, found by evaluation; gates without their review."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from support.random_workflows import workflows
from support.workflows import step, unchecked

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.values import Arg
from flowrail.machines.walks.plan import plan
from flowrail.machines.workflow import Workflow

LEFT = {"left": Arg(type="integer", min=0, max=20, required=True)}
SURE = {"sure": Arg(choices=("low", "high"), required=True)}


def messages(definition: Workflow, code: str) -> list[tuple[str, str]]:
    findings = check_workflow(definition, advice=True)
    assert not [finding for finding in findings if finding.severity == "error"], findings
    return [(str(finding.step), finding.message) for finding in findings if finding.code == code]


def deciding(*rules: tuple[str, str | None], **parts: Any) -> Workflow:
    transitions = parts.pop("transitions", {"ok": "b", "iterate": "a", "skip": None})
    first = step(
        "a", next=transitions, rules=[(outcome, when) for outcome, when in rules], **{"limit": 3, **parts}
    )
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
    messages_of_rules = messages(deciding(*rules, reports=reports), "FR177")

    assert [message.partition(" of step")[0] for _, message in messages_of_rules] == never


def test_conditions_of_steps_and_variants_are_tried_too() -> None:
    definition = unchecked(
        step("a", next={"ok": "b"}, reports=SURE),
        step("b", when="sure == 'high' and sure == 'low'", next={"ok": "c"}),
        step("c", variants=[("mode == 'full' and mode == 'quick'", "Other.")]),
        params={"mode": Arg(choices=("quick", "full"), default="full")},
    )

    assert [step_id for step_id, _ in messages(definition, "FR177")] == ["b", "c"]


@pytest.mark.parametrize(
    ("fix", "check", "expected"),
    [
        ({"ok": "review"}, {"ok": "gate"}, []),
        ({"ok": "gate"}, {"ok": "gate"}, ["after it failed"]),
        ({"ok": "review", "skip": "gate"}, {"ok": "gate"}, ["after it failed"]),
    ],
)
def test_gates_that_a_run_comes_to_without_their_review_are_found(
    fix: dict[str, str], check: dict[str, str], expected: list[str]
) -> None:
    definition = unchecked(
        step("plan", next={"ok": "review"}),
        step("review", next=check),
        step("gate", gate=GateConfig("Plan", review="review"), next={"ok": None, "fail": "fix"}),
        step("fix", next={**fix, "fail": "review"}),
    )

    assert [message.partition(" a run")[0] for _, message in messages(definition, "FR178")] == expected


@settings(max_examples=10)
@given(workflows(functions=False, most=4))
def test_a_condition_that_never_holds_is_not_reached_in_a_walk(definition: Workflow) -> None:
    findings = check_workflow(definition, advice=True)

    never = {
        finding.step
        for finding in findings
        if finding.code == "FR177" and finding.message.startswith("`when`")
    }
    assert never <= set(plan(definition).unentered)
