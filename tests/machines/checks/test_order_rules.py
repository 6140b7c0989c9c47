"""Findings about guards and order rules: misspelt, impossible, or without effect."""

from __future__ import annotations

from typing import Any

import pytest
from support.sandbox import flow, put_skill
from support.workflows import step, unchecked

from flowrail.machines.checks.check import check

STEPS = (
    step("review", next={"ok": "publish", "fail": None}),
    step("publish", forbids=["Bash(rm*)"]),
)
YAML = """\
name: NAME
order:
  - review before publish
  - revew before publish
guards:
  "Bash(git push*)": [publish]
  "Bash(tools/publish*)":
    - publsh
steps:
  - {id: review, title: Review, actions: [Look.], next: {ok: publish, fail: null}}
  - {id: publish, title: Publish, actions: [Push.], next: {ok: null}}
"""


def _problems(**parts: Any) -> list[tuple[str, str, str]]:
    findings = check(unchecked(*STEPS, **parts))
    return [(finding.code, finding.message, finding.remedy) for finding in findings]


@pytest.mark.parametrize(
    ("rule", "problem", "remedy"),
    [
        ("revew before publish", "names `revew`, which is not a step", "did you mean `review`?"),
        (
            "review befor publish",
            "cannot be read as an order rule",
            "did you mean `before` instead of `befor`?",
        ),
        ("fail of publish before review", "is about fail of publish, which never happens", "correct"),
        (
            'at most 1 "Bash(git push*)" per attempt of publish',
            'is about "Bash(git push*)", which',
            "correct",
        ),
        ("never publish after review until skip of publish", "is about skip of publish, which", "correct"),
    ],
)
def test_a_rule_that_is_misspelt_or_about_what_never_happens(rule: str, problem: str, remedy: str) -> None:
    [(code, message, advice)] = _problems(order=[rule], guards={"Bash(git push*)": []})

    assert code == "FR153"
    assert message.startswith(f"the rule `{rule}` {problem}")
    assert remedy in advice


@pytest.mark.parametrize(
    ("guard", "steps", "problem"),
    [
        ("Bash(", ["publish"], "the guard `Bash(` is not a rule"),
        ("Bash(flow run*)", ["publish"], "names commands of flow, which are never denied"),
        ("Bash(git push*)", ["publsh"], "names `publsh`, which is not a step"),
    ],
)
def test_a_guard_that_is_misspelt(guard: str, steps: list[str], problem: str) -> None:
    [(code, message, _)] = _problems(guards={guard: steps})

    assert code == "FR158"
    assert problem in message


def test_findings_in_yaml_name_the_line_and_the_right_word() -> None:
    put_skill("guarded", YAML)

    printed = flow("check", "guarded").out

    assert "workflow.yaml:4:5: error FR153: the rule `revew before publish` names `revew`" in printed
    assert "did you mean `review`?" in printed
    assert "workflow.yaml:8" in printed
    assert "did you mean `publish`?" in printed
