"""Work for agents, questions and gates that cannot work are named before anything runs, each by one code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from support.workflows import AREAS, asking_workflow, fan, step, unchecked, workflow, yes_no

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition.findings import CODES, Finding
from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.step_parts import (
    LATEST_DEADLINE,
    MOST_DISPATCHES,
    Dispatch,
    GateConfig,
    Option,
    Question,
)
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow

Make = Callable[[], Workflow]


def mistakes(workflow_: Workflow) -> list[Finding]:
    """Return what is wrong; advice is another's business."""
    return [each for each in check_workflow(workflow_) if each.severity == "error"]


def works(*, step_parts: Mapping[str, Any] | None = None, agent: str = "explore", **parts: Any) -> Make:
    """Return a maker of a workflow whose step gives work to agents."""
    given: dict[str, Any] = {"prompt": ("Look.",), **parts}
    return lambda: unchecked(step("a", dispatch=Dispatch(agent, **given), **(step_parts or {})), params=AREAS)


def asks(*questions: Question, **parts: Any) -> Make:
    given: dict[str, Any] = {"next": {"ok": None, "fail": None}, **parts}
    return lambda: unchecked(step("a", questions=questions, **given))


def gates(gate: GateConfig | None = None, **ways: Any) -> Make:
    return lambda: unchecked(
        step("work", next={"ok": "review"}),
        step("review", next={"ok": "gate"}),
        step(
            "gate", gate=gate or GateConfig("G", review="review"), next={"ok": None, "fail": "work", **ways}
        ),
    )


def option(label: str = "Yes", outcome: str | None = "ok") -> Option:
    return Option(label, outcome=outcome)


THREE = tuple(option(label) for label in "ABC")

BROKEN: Mapping[str, Mapping[str, Make]] = {
    "FR140": {
        "nobody declares it": works(over="nobody"),
        "no list": lambda: unchecked(
            step("a", dispatch=Dispatch("explore", None, "topic", prompt=("$item",))),
            params={"topic": Arg(default="x")},
        ),
        "an empty list": works(over=()),
        "too many": works(over=tuple(range(MOST_DISPATCHES + 1))),
    },
    "FR141": {
        "an unknown name": works(context_vars={"area": "about $nobody"}),
        "an item of nothing": works(context_vars={"area": "$item"}),
        "no name": works(context_vars={"Area": "x"}),
        "a name that is ours": works(over="areas", context_vars={"item": "x"}),
    },
    "FR142": {
        "no join": works(join="most"),
        "too many": works(over=("a", "b"), join="at least 3"),
        "too many of one": works(join="at least 2"),
    },
    "FR144": {
        "which item": works(over="areas", prompt=()),
        "blanks": works(over="areas", prompt=(" ",)),
    },
    "FR146": {
        "none to choose": asks(Question("go", "Go", "Go?", ())),
        "four to choose": asks(Question("go", "Go", "Go?", (*THREE, option("D")))),
        "a long header": asks(replace(yes_no(), header="x" * 13)),
        "no header": asks(replace(yes_no(), header="")),
        "no text": asks(replace(yes_no(), text="")),
        "no id": asks(replace(yes_no(), id="Go!")),
        "one label twice": asks(replace(yes_no(), options=(option(), option(outcome="fail")))),
        "a label that is ours": asks(replace(yes_no(), options=(option("other:x"), option("No", "fail")))),
        "four questions": asks(*(yes_no(f"q{number}") for number in range(4))),
        "one id twice": asks(yes_no(), replace(yes_no(), text="Another?")),
        "a default that is no label": asks(replace(yes_no(), default="Maybe")),
        "a deadline without a default": asks(replace(yes_no(), deadline=5)),
        "a deadline too late": asks(replace(yes_no(), default="No", deadline=LATEST_DEADLINE + 1)),
    },
    "FR147": {
        "an option": asks(replace(yes_no(), options=(option(), option("No", "skip")))),
        "own words": asks(replace(yes_no(), other="iterate")),
        "no way of ok": asks(
            replace(yes_no(), options=(option("A", None), option("B", "fail"))), next={"fail": None}
        ),
    },
    "FR148": {
        "no such review": gates(GateConfig("G", review="reviw")),
        "its own": gates(GateConfig("G", review="gate")),
        "no way of fail": lambda: unchecked(
            step("review", next={"ok": "gate"}),
            step("gate", gate=GateConfig("G", review="review"), next={"ok": None}),
        ),
        "no way of ok": lambda: unchecked(
            step("review", next={"ok": "gate", "skip": None}),
            step("gate", gate=GateConfig("G", review="review"), next={"fail": "review"}),
        ),
    },
    "FR149": {
        "it ends": gates(fail=None),
        "past the review": lambda: unchecked(
            step("review", next={"ok": "gate"}),
            step("gate", gate=GateConfig("G", review="review"), next={"ok": None, "fail": "work"}),
            step("work", next={"ok": "gate"}),
        ),
        "the gate comes first": lambda: unchecked(
            step("gate", gate=GateConfig("G", review="review"), next={"ok": None, "fail": "review"}),
            step("review", next={"ok": None}),
        ),
    },
    "FR150": {
        "no rounds": gates(GateConfig("G", review="review", limit=0)),
        "no such policy": gates(GateConfig("G", review="review", limit=5, policy="strict")),
    },
    "FR151": {"nobody declares it": lambda: unchecked(step("a"), then="dull/$kind")},
    "FR153": {
        "no time": works(lease=0),
        "too long": works(lease=8 * 24 * 3600),
    },
    "FR154": {
        "twice": lambda: unchecked(
            step("a", handler=Dispatch("explore", "a/b"), dispatch=Dispatch("explore", "a/b"))
        )
    },
    "FR124": {
        "questions and rules": asks(yes_no(), rules=[("ok", None)]),
        "a gate and questions": lambda: unchecked(
            step("review", next={"ok": "gate"}),
            step(
                "gate",
                gate=GateConfig("G", review="review"),
                questions=[yes_no()],
                next={"ok": None, "fail": "review"},
            ),
        ),
        "questions and a handler": asks(yes_no(), handler=lambda _: Outcome.OK),
    },
    "FR121": {
        "in a prompt": works(prompt=("About $nobody.",)),
        "an item of nothing": works(prompt=("About $item.",)),
        "in a question": asks(replace(yes_no(), text="Really $nobody?")),
        "in a label": asks(replace(yes_no(), options=(option("$nobody"), option("No", "fail")))),
        "in a description": asks(
            replace(yes_no(), options=(Option("A", outcome="ok", description="$x"), option("B")))
        ),
    },
}
OF_THE_FOLDER = {"FR143", "FR152", "FR155"}
"""Findings that need the folder; see tests/skills/test_references.py."""
CASES = [
    pytest.param(code, make, id=f"{code} {what}")
    for code, all_of in BROKEN.items()
    for what, make in all_of.items()
]


@pytest.mark.parametrize(("code", "make"), CASES)
def test_a_mistake_is_found_and_nothing_else(code: str, make: Make) -> None:
    found = mistakes(make())

    assert [each.code for each in found] == [code], found
    assert found[0].severity == "error"
    assert found[0].message
    assert found[0].remedy


def test_every_code_about_agents_has_a_workflow_that_yields_it() -> None:
    assert {code for code in BROKEN if code >= "FR140"} | OF_THE_FOLDER | {"FR145"} == {
        code for code in CODES if "FR140" <= code <= "FR155"
    }


# --- what is no mistake


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(fan, id="a fact that is a list"),
        pytest.param(lambda: fan(over=["a"], join="at least 1"), id="a list of an author"),
        pytest.param(works(lease=0.5 + 0.5), id="a short lease"),
        pytest.param(
            works(over="areas", join="at least 3", context_vars={"a": "$item of $areas, $$"}), id="all of it"
        ),
        pytest.param(
            lambda: workflow(
                step(
                    "a",
                    dispatch=Dispatch("explore", None, "found", {"x": "$y"}, prompt=("$z",)),
                    next={"ok": "b"},
                ),
                step("b", handler=lambda _: Outcome.OK),
            ),
            id="names that a handler may return",
        ),
        pytest.param(lambda: asking_workflow(yes_no(default="No", deadline=60)), id="a deadline"),
        pytest.param(
            lambda: workflow(
                step("a", questions=[Question("go", "Go", "Go $topic?", (option("A"), option("B", None)))]),
                params={"topic": Arg(default="")},
                then="dull/$topic",
            ),
            id="an option without an outcome",
        ),
        pytest.param(
            lambda: workflow(
                step("a", dispatch=Dispatch("explore"), handler=lambda _: Outcome.OK, next={"ok": None})
            ),
            id="work with a handler that decides",
        ),
        pytest.param(
            lambda: workflow(step("a", actions=lambda _: ["Do it."], dispatch=Dispatch("explore"))),
            id="a text that is computed",
        ),
    ],
)
def test_what_is_in_order_has_no_findings(make: Make) -> None:
    assert mistakes(make()) == []


def test_a_loop_of_answers_that_never_leave_is_found() -> None:
    again = Question("go", "Go", "Go?", (option("A", "iterate"), option("B", "iterate")))
    found = mistakes(unchecked(step("a", questions=[again], next={"ok": None, "iterate": "a"})))

    assert [each.code for each in found] == ["FR109"]
    limited = step("a", questions=[again], next={"ok": None, "iterate": "a"}, limit=2)
    assert mistakes(workflow(limited)) == []


def test_any_agent_may_be_named_and_a_misspelt_role_is_a_warning() -> None:
    for agent, codes in {"developper": ["FR145"], "security-auditor": [], "developer": []}.items():
        made = workflow(step("a", dispatch=Dispatch(agent, prompt=("Look.",)), next={"ok": None}))

        found = check_workflow(made, advice=True)

        assert [(finding.code, finding.severity) for finding in found] == [
            (code, "warning") for code in codes
        ]
