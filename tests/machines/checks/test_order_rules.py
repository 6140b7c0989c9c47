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
    findings = check(unchecked(*STEPS, **parts), advice=True)
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


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("publish before publish", "cannot be kept: ok of publish comes after the first entry"),
        ("fail of review before review", "cannot be kept: fail of review comes after the first entry"),
        ("publish after publish", "cannot be kept: no entry follows the last ok of publish"),
        ('"Bash(make test -q*)" before "Bash(make test*)"', "cannot be kept: each call that matches"),
        ("never publish after review until review", "names ok of review on both sides of `until`"),
        ('never "Edit" after review until "Edit"', 'names "Edit" on both sides of `until`'),
        ("at most 0 publish", "cannot be read as an order rule"),
    ],
)
def test_a_rule_that_no_run_can_keep(rule: str, problem: str) -> None:
    [(code, message, _)] = _problems(order=[rule])

    assert code == "FR153"
    assert message.startswith(f"the rule `{rule}` {problem}")


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ("at most 1 publish", "no path leads back to `publish`"),
        ("at most 2 ok of review per attempt of publish", "no path leads back to `review`"),
        ("never publish after publish", "no path leads back to `publish`"),
        ("at most 3 review per attempt of review", "each attempt of `review` has one entry"),
    ],
)
def test_a_rule_that_every_run_keeps(rule: str, reason: str) -> None:
    [(code, message, remedy)] = _problems(order=[rule])

    assert code == "FR153"
    assert message == f"the rule `{rule}` is always kept: {reason}"
    assert remedy == "remove it, or name what may be repeated, such as a tool call"


def test_the_same_rules_about_a_step_that_is_repeated_are_meant() -> None:
    repeated = [step("fix", next={"ok": "look"}), step("look", next={"ok": None, "fail": "fix"}, limit=3)]
    rules = ["at most 3 fix", "never look after look", "fix after fail of look"]

    findings = check(unchecked(*repeated, order=rules), advice=True)

    assert [finding for finding in findings if finding.code == "FR153"] == []


@pytest.mark.parametrize(
    ("pattern", "meant"),
    [("Bahs(git push*)", "Bash"), ("Bsh(git push*)", "Bash"), ("bash", "Bash"), ("Edits(src/**)", "Edit")],
)
def test_a_misspelt_tool_is_a_warning_with_the_known_name(pattern: str, meant: str) -> None:
    guarded = _problems(guards={pattern: ["publish"]})
    ordered = _problems(order=[f'review before "{pattern}"'])
    forbidden = check(unchecked(step("look", forbids=[pattern])), advice=True)

    tool = pattern.partition("(")[0]
    for code, message, remedy in (*guarded, *ordered):
        assert code in {"FR153", "FR158"}
        assert message.endswith(f"names the tool `{tool}`, which no known host has")
        assert remedy == f"did you mean `{meant}`?"
    assert (len(guarded), len(ordered)) == (1, 1)
    assert [(finding.code, finding.severity) for finding in forbidden] == [("FR156", "warning")]


@pytest.mark.parametrize("tool", ["mcp__bash__run", "mcp__*", "Deploy", "TodoWrite", "WebFetch", "LSP"])
def test_a_custom_tool_is_allowed(tool: str) -> None:
    assert _problems(guards={tool: ["publish"]}, order=[f'review before "{tool}"']) == []


def test_a_guard_that_names_every_step_denies_nothing_once_the_workflow_has_started() -> None:
    [(code, message, remedy)] = _problems(guards={"Bash(git push*)": ["review", "publish"]})

    assert code == "FR158"
    assert message == (
        "the guard `Bash(git push*)` names every step, so that starting the workflow allows the call"
    )
    assert remedy == "name the steps to which the call belongs"


def test_findings_in_yaml_name_the_line_and_the_right_word() -> None:
    put_skill("guarded", YAML)

    put_skill(
        "misspelt",
        YAML.replace("  - revew before publish\n", "")
        .replace("publsh", "publish")
        .replace("Bash(tools", "Bahs(tools"),
    )

    printed = flow("check", "guarded").out
    misspelt = flow("check", "misspelt").out

    assert (
        "workflow.yaml:6:3: warning FR158: the guard `Bahs(tools/publish*)` names the tool `Bahs`" in misspelt
    )
    assert "workflow.yaml:4:5: error FR153: the rule `revew before publish` names `revew`" in printed
    assert "did you mean `review`?" in printed
    assert "workflow.yaml:8" in printed
    assert "did you mean `publish`?" in printed
