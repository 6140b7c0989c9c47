"""Errors of a workflow: each has one code, and a valid workflow has no finding.

`tests/operations/skills/test_findings_page.py` has an example of each code; this module has the other cases.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from support.random_workflows import workflows
from support.workflows import AREAS, fan, loop, step, unchecked, workflow, yes_no

from flowrail.machines.checks.check import check
from flowrail.machines.checks.error_checks import MOST_TRANSITIONS
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.step import StepContext, StepDef, Variant
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome


def asks(ctx: StepContext, topic: str) -> Outcome:
    return Outcome.OK


def may_fail(ctx: StepContext) -> tuple[Literal[Outcome.OK, Outcome.FAIL], dict[str, Any]]:
    return Outcome.OK, {}


def declares(ctx: StepContext, size: Annotated[str, Arg(choices=())]) -> Outcome:
    return Outcome.OK


single = partial(step, "a")
"""A step that is the whole workflow."""
a_then_b = partial(step, "a", next={"ok": "b", "fail": None})
b_twice = step("b", next={"ok": "b"})
mode = {"mode": Arg(choices=("quick", "full"), default="full")}


def dispatching(**parts: Any) -> StepDef:
    return single(dispatch=Dispatch(**{"agent": "explore", "prompt": ("Look.",), **parts}))


def asking(*questions: Question, **parts: Any) -> StepDef:
    return single(**{"questions": questions, "next": {"ok": None, "fail": None}, **parts})


def asked(**parts: Any) -> StepDef:
    return asking(replace(yes_no(), **parts))


def option(label: str = "Yes", outcome: str | None = "ok") -> Option:
    return Option(label, outcome=outcome)


REVIEW = step("review", next={"ok": "gate"})
FOUR = tuple(option(label) for label in "ABCD")


def gate(review: str = "review", **parts: Any) -> StepDef:
    return step(
        "gate", **{"gate": GateConfig("G", review=review), "next": {"ok": None, "fail": "review"}, **parts}
    )


ERRORS: Mapping[str, list[tuple[StepDef, ...]]] = {
    "FR102": [(single(next={"ok": None, "fail": 5}),), (single(next={"ok": None, "fail": ["a"]}),)],
    "FR104": [(single(), step("b", next={"ok": None, "iterate": "b"}))],
    "FR105": [(single(handler=asks),)],
    "FR107": [
        (step("a\n"),),
        (step("a" * 65),),
    ],
    "FR108": [(a_then_b(), b_twice)],
    "FR109": [
        (a_then_b(rules=[("ok", None)]), step("b", next={"ok": "a"})),
        (asking(Question("go", "Go", "Go?", (option("A", "iterate"), option("B", "iterate"))),
                next={"ok": None, "iterate": "a"}),),
    ],
    "FR110": [
        (single(rules=[("okay", "visit > 1"), ("ok", None)]),),
        (single(handler=may_fail),),
    ],
    "FR115": [(single(actions=["", " \n"]),)],
    "FR116": [
        (single(when="visit > 1"),),
        (a_then_b(), step("b", when="visit > 1", next={"ok": "b", "fail": None})),
    ],
    "FR117": [(single(next={"iterate": "a", "skip": None}, limit=2),)],
    "FR118": [(single(rules=[("ok", None), ("ok", None)]),), (single(rules=[("ok", "visit > 1")]),)],
    "FR119": [
        (a_then_b(), step("b", when="visit ==")),
        (single(rules=[("ok", "visit = 1"), ("ok", None)]),),
    ],
    "FR121": [
        (single(title="About $topic"),),
        (single(actions=["Attempt ${visit}"]),),
    ],
    "FR122": [
        (single(handler=declares),),
        (single(reports={"mode": Arg(choices=())}),),
    ],
    "FR123": [
        (single(variants=[("mode in ['fast', 'full']", ("x",))]),),
        (single(variants=[("'fast' != mode", ("x",))]),),
    ],
    "FR124": [
        (single(handler=Dispatch("explore"), rules=[("ok", None)]),),
        (asking(yes_no(), rules=[("ok", None)]),),
    ],
    "FR130": [
        (single(limit=0),),
        (single(limit="5"),),
    ],
    "FR140": [
        (dispatching(over="nobody"),),
        (dispatching(over="mode"),),
    ],
    "FR141": [
        (dispatching(vars={"area": "$item"}),),
        (dispatching(vars={"Area": "x"}),),
    ],
    "FR142": [
        (dispatching(join="most"),),
        (dispatching(over=("a", "b"), join="at least 3"),),
    ],
    "FR144": [(dispatching(over="areas", prompt=(" ",)),)],
    "FR146": [
        (asked(options=()),),
        (asked(options=FOUR),),
    ],
    "FR147": [
        (asked(other="iterate"),),
        (asking(replace(yes_no(), options=(option("A", None), option("B", "fail"))), next={"fail": None}),),
    ],
    "FR148": [
        (REVIEW, gate("reviw")),
        (REVIEW, gate("gate")),
    ],
    "FR149": [
        (step("review", next={"ok": "gate"}), gate(next={"ok": None, "fail": "work"}), step("work", next={"ok": "gate"})),
        (gate(), step("review")),
    ],
    "FR154": [(single(handler=Dispatch("explore", "a/b"), dispatch=Dispatch("explore", "a/b")),)],
}  # fmt: skip
CASES = [
    pytest.param(code, steps, id=f"{code} {number}")
    for code, lists in ERRORS.items()
    for number, steps in enumerate(lists)
]


@pytest.mark.parametrize(("code", "steps"), CASES)
def test_an_error_is_found_and_nothing_else(code: str, steps: tuple[StepDef, ...]) -> None:
    findings = check(unchecked(*steps, params={**mode, **AREAS}))

    assert [(finding.code, finding.severity) for finding in findings] == [(code, "error")]
    assert findings[0].message
    assert findings[0].remedy
    assert findings[0].place


@pytest.mark.parametrize(
    ("code", "parts"),
    [
        ("FR107", {"name": ""}),
        ("FR107", {"name": "a" * 129}),
        ("FR107", {"params": {"Topic": Arg()}}),
        ("FR130", {"params": True}),
        ("FR151", {"then": "dull/$kind"}),
    ],
)
def test_an_error_of_the_whole_workflow_is_found(code: str, parts: dict[str, Any]) -> None:
    assert [finding.code for finding in check(unchecked(step("a"), **parts))] == [code]


@given(workflows())
@settings(max_examples=30)
def test_a_random_workflow_that_runs_has_no_errors(definition: Workflow) -> None:
    assert [finding for finding in check(definition) if finding.severity == "error"] == []


def decided(_: StepContext) -> Outcome:
    return Outcome.OK


VALID = {
    "a loop with a limit": loop(),
    "a loop of rules that the limit ends": workflow(
        single(next={"ok": None, "iterate": "a"}, limit=2, rules=[("iterate", None)])
    ),
    "comparing with the default": workflow(
        single(variants=[("mode == 'other'", ("x",))]),
        params={"mode": Arg(type="string", default="other", choices=("other",))},
    ),
    "a handler's fact": workflow(single(handler=asks, reports={"topic": Arg()})),
    "names that a handler may return": workflow(
        single(title="$found", handler=decided, variants=[Variant("found > 1", ("$found",))])
    ),
    "dispatches over a fact": fan(),
    "an option without an outcome": workflow(
        asking(Question("go", "Go", "Go $topic?", (option("A"), option("B", None)))),
        params={"topic": Arg(default="")},
        then="dull/$topic",
    ),
    "a gate": workflow(REVIEW, gate()),
}


@pytest.mark.parametrize("title", VALID)
def test_a_valid_workflow_has_no_findings(title: str) -> None:
    assert check(VALID[title]) == []


def test_a_workflow_whose_machine_would_be_too_large_is_an_error() -> None:
    skipping = {"actions": ["x"], "when": "never == 'x'"}
    steps = [step(f"s{number}", **skipping, next={"ok": f"s{number + 1}"}) for number in range(1, 120)]
    chained = [step("s0", next={"ok": "s1"}), *steps, step("s120")]
    declared = {"never": Arg(default="")}

    (finding,) = [
        finding for finding in check(unchecked(*chained, params=declared)) if finding.code == "FR116"
    ]

    assert finding.severity == "error"
    assert f"more than {MOST_TRANSITIONS} transitions" in finding.message
