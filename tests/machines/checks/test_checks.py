"""Structural checks: each finding has a code, a place and a fix, and all are reported at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given, settings
from support.random_workflows import workflows
from support.workflows import linear, loop, step, unchecked, workflow

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition.findings import CODES
from flowrail.machines.definition.step import Outcome, StepContext, Variant
from flowrail.machines.definition.step_parts import Dispatch
from flowrail.machines.definition.validation.structure import LARGEST_ACTIONS, MOST_TRANSITIONS
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow


def asks(ctx: StepContext, topic: str) -> Outcome:
    return Outcome.OK


def may_fail(ctx: StepContext) -> tuple[Literal[Outcome.OK, Outcome.FAIL], dict[str, Any]]:
    return Outcome.OK, {}


def only_fails(ctx: StepContext) -> Literal["fail"]:
    return "fail"


def _of(*steps: Any, **parts: Any) -> Callable[[], Workflow]:
    return lambda: unchecked(*steps, **parts)


def _one(**parts: Any) -> Callable[[], Workflow]:
    return lambda: unchecked(step("a", **parts))


MODE = {"mode": Arg(choices=("quick", "full"), default="full")}
GOOD = step("b")

BROKEN: Mapping[str, Mapping[str, Callable[[], Workflow]]] = {
    "FR101": {"no such step": _of(step("a"), entry_point="b")},
    "FR102": {
        "no such step": _one(next={"ok": None, "fail": "c"}),
        "a number": _one(next={"ok": None, "fail": 5}),
        "a list": _one(next={"ok": None, "fail": ["a"]}),
    },
    "FR103": {"a ring": _of(step("a", next={"ok": "b"}), step("b", next={"ok": "a"}))},
    "FR104": {
        "nobody leads there": _of(step("a"), GOOD),
        "only itself": _of(step("a"), step("b", next={"ok": None, "iterate": "b"})),
    },
    "FR105": {"no default, no declaration": _one(handler=asks)},
    "FR106": {"twice": _of(step("a", next={"ok": "b"}), GOOD, GOOD)},
    "FR107": {
        "a step's id": _of(step("1a")),
        "a step's id with a line feed": _of(step("a\n")),
        "a long id": _of(step("a" * 65)),
        "a number as id": lambda: unchecked(step(7, title="Seven")),  # type: ignore[arg-type]
        "a workflow's name": _of(step("a"), name="Dull One"),
        "an empty name": _of(step("a"), name=""),
        "a long name": _of(step("a"), name="a" * 129),
        "a parameter": _of(step("a"), params={"Topic": Arg()}),
        "a fact": _one(reports={"visit": Arg()}),
        "a word of the rules": _one(reports={"and": Arg()}),
        "a constant of the rules": _one(reports={"true": Arg()}),
    },
    "FR108": {
        "a step that stays": _of(step("a", next={"ok": "b", "fail": None}), step("b", next={"ok": "b"}))
    },
    "FR109": {
        "rules that never leave": _one(next={"ok": None, "iterate": "a"}, rules=[("iterate", None)]),
        "two steps that never leave": _of(
            step("a", next={"ok": "b", "fail": None}, rules=[("ok", None)]), step("b", next={"ok": "a"})
        ),
    },
    "FR110": {
        "a rule": _one(rules=[("iterate", "visit > 1"), ("ok", None)]),
        "no outcome": _one(rules=[("okay", "visit > 1"), ("ok", None)]),
        "a handler": _one(handler=may_fail),
        "a handler without values": _one(handler=only_fails),
    },
    "FR111": {"all are named": _one(next=dict.fromkeys([*Outcome], None))},
    "FR112": {"none": _of(step("a", next={"ok": None, "fail": "b"}), step("b", next={}))},
    "FR113": {
        "no outcome": _one(next={"ok": None, "okay": None}),
    },
    "FR114": {"none": _of()},
    "FR115": {
        "no title": _one(title=""),
        "nothing told": _one(actions=()),
        "blanks": _one(actions=["", " \n"]),
        "very much": _one(actions=["x" * (LARGEST_ACTIONS + 1)]),
    },
    "FR116": {
        "the first": _one(when="visit > 1"),
        "a circle": _of(
            step("a", next={"ok": "b", "fail": None}),
            step("b", when="visit > 1", next={"ok": "b", "fail": None}),
        ),
        "no way past": _of(step("a", next={"ok": "b"}), step("b", when="visit > 1", next={"fail": None})),
    },
    "FR117": {
        "nought": _one(limit=0),
        "no way of ok": _one(next={"iterate": "a", "skip": None}, limit=2),
    },
    "FR118": {
        "never tried": _one(rules=[("ok", None), ("ok", None)]),
        "none may hold": _one(rules=[("ok", "visit > 1")]),
    },
    "FR119": {
        "half an expression": _of(step("a", next={"ok": "b"}), step("b", when="visit ==")),
        "a rule": _one(rules=[("ok", "visit = 1"), ("ok", None)]),
        "a variant": _one(variants=[("visit >", ("Again",))]),
    },
    "FR120": {"nobody declares it": _one(rules=[("ok", "topic == 'x'"), ("ok", None)])},
    "FR121": {
        "in the title": _one(title="About $topic"),
        "in the actions": _one(actions=["About $topic"]),
        "in a variant": _one(variants=[("visit > 1", ("About $topic",))]),
    },
    "FR122": {
        "no choices": _of(step("a"), params={"mode": Arg(choices=())}),
        "choices of two kinds": _of(step("a"), params={"mode": Arg(choices=("quick", 1))}),
        "bounds the wrong way": _one(reports={"size": Arg(min=5, max=1)}),
        "lengths the wrong way": _one(reports={"text": Arg(min_length=5, max_length=1)}),
        "a default that does not fit": _of(
            step("a"), params={"mode": Arg(choices=("quick",), default="full")}
        ),
        "an example that does not fit": _one(reports={"size": Arg(max=5, example=6)}),
        "an unknown type": _one(reports={"size": Arg(type="int")}),
        "an unknown type, compared": _of(
            step("a", rules=[("ok", "size == 1"), ("ok", None)], reports={"size": Arg(type="int")})
        ),
        "no whole number between": _one(reports={"size": Arg(type="integer", min=0.2, max=0.8)}),
    },
    "FR123": {
        "no such choice": _of(step("a", variants=[("mode == 'fast'", ("x",))]), params=MODE),
        "no such choice in a list": _of(
            step("a", variants=[("mode in ['fast', 'full']", ("x",))]), params=MODE
        ),
        "always": _of(step("a", variants=[("'fast' != mode", ("x",))]), params=MODE),
        "another kind": _of(step("a", variants=[("mode == 1", ("x",))]), params=MODE),
    },
    "FR124": {
        "a handler": _one(handler=lambda _: Outcome.OK, rules=[("ok", None)]),
        "an agent": _one(handler=Dispatch("explore"), rules=[("ok", None)]),
    },
}
CASES = [
    pytest.param(code, make, id=f"{code} {what}")
    for code, all_of in BROKEN.items()
    for what, make in all_of.items()
]


@pytest.mark.parametrize(("code", "make"), CASES)
def test_a_mistake_is_found_and_nothing_else(code: str, make: Callable[[], Workflow]) -> None:
    found = check_workflow(make())

    assert [each.code for each in found] == [code]
    assert found[0].message
    assert found[0].remedy
    assert found[0].place


def test_every_structural_code_has_a_workflow_that_yields_it() -> None:
    structural = {code for code in CODES if "FR101" <= code <= "FR124"}

    assert set(BROKEN) == structural


# --- what is no mistake


@given(workflows())
@settings(max_examples=30)
def test_a_workflow_that_was_made_has_no_errors(definition: Workflow) -> None:
    assert [each for each in check_workflow(definition) if each.severity == "error"] == []


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(loop, id="a loop with a limit"),
        pytest.param(lambda: loop(limit=None), id="a loop that the agent can leave"),
        pytest.param(
            lambda: workflow(
                step("a", next={"ok": None, "iterate": "a"}, limit=2, rules=[("iterate", None)])
            ),
            id="a loop of rules that the limit ends",
        ),
        pytest.param(
            lambda: workflow(step("a", next={"_default": None}), name="a/b", params={"a": Arg(default="")}),
            id="a default way alone",
        ),
        pytest.param(
            lambda: workflow(
                step("a", rules=[("ok", "mode == null"), ("ok", "mode != 'full'"), ("ok", None)]), params=MODE
            ),
            id="comparing with null and with a choice",
        ),
        pytest.param(
            lambda: workflow(step("a", handler=asks), params={"topic": Arg()}), id="a handler's parameter"
        ),
        pytest.param(
            lambda: workflow(step("a", handler=asks, reports={"topic": Arg()})), id="a handler's fact"
        ),
        pytest.param(
            lambda: workflow(step("a", handler=lambda ctx, topic="x": Outcome.OK)), id="a handler's default"
        ),
        pytest.param(
            lambda: workflow(
                step(
                    "a",
                    title="$found",
                    handler=lambda _: Outcome.OK,
                    variants=[Variant("found > 1", ("$found",))],
                )
            ),
            id="names that a handler may return",
        ),
        pytest.param(lambda: workflow(step("a", actions=["$$topic"])), id="a dollar"),
        pytest.param(
            lambda: workflow(
                step("a", variants=[("mode == 'other'", ("x",))]),
                params={"mode": Arg(type="string", default="other", choices=("other",))},
            ),
            id="comparing with the default",
        ),
        pytest.param(
            lambda: linear("a", params={"mode": {"choices": ["x"]}}), id="a parameter as plain data"
        ),
    ],
)
def test_what_is_in_order_has_no_findings(make: Callable[[], Workflow]) -> None:
    assert check_workflow(make()) == []


def test_a_handlers_own_parameters_are_checked_like_declared_ones() -> None:
    def handler(ctx: StepContext, size: Annotated[int, Arg(min=5, max=1)] = 3) -> Outcome:
        return Outcome.OK

    found = check_workflow(unchecked(step("a", handler=handler)))

    assert {each.code for each in found} == {"FR122"}


def test_a_workflow_of_which_no_machine_can_be_made_in_a_moment_is_a_mistake() -> None:
    skipping = {"actions": ["x"], "when": "never == 'x'"}
    steps = [step(f"s{number}", **skipping, next={"ok": f"s{number + 1}"}) for number in range(1, 120)]
    chained = [step("s0", next={"ok": "s1"}), *steps, step("s120")]
    declared = {"never": Arg(default="")}

    (found,) = [each for each in check_workflow(unchecked(*chained, params=declared)) if each.code == "FR116"]

    assert found.severity == "error"
    assert f"more than {MOST_TRANSITIONS} transitions" in found.message
