"""The classes that an author uses: immutable values, and the values derived from them."""

from __future__ import annotations

import pickle
from copy import copy, deepcopy
from dataclasses import FrozenInstanceError, replace

import pytest
from support.workflows import step

from flowrail.machines.frozen import Frozen
from flowrail.machines.session import Report
from flowrail.machines.statechart import compile_workflow
from flowrail.machines.step import StepContext, StepDef
from flowrail.machines.transition import advance, start
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

# --- steps


def test_a_step_is_frozen_all_the_way_down() -> None:
    transitions = {"ok": None}
    actions = ["look"]
    declared = step(next=transitions, actions=actions, reports={"x": Arg(type="list")}, rules=[("ok",)])
    transitions["fail"] = None
    actions.append("more")

    assert declared.next == {Outcome.OK: None}
    assert declared.actions == ("look",)
    assert declared.reports == {"x": Arg(type="list")}
    assert isinstance(declared.next, Frozen)
    assert hash(declared) == hash(replace(declared))
    with pytest.raises(FrozenInstanceError):
        declared.title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        declared.next["ok"] = "b"


# --- workflows as values


def decide(context: StepContext) -> Outcome:
    return Outcome.OK


def decided() -> Workflow:
    return Workflow(
        "copies",
        StepDef("a", "A", ["Do it."], decide, next={Outcome.OK: "b"}, reports={"x": Arg(choices=("p", "q"))}),
        StepDef("b", "B", ["Do it.", "And more."], next={Outcome.OK: None}),
        params={"topic": Arg(required=True)},
        description="To be copied.",
    )


def test_workflows_are_copied_and_pickled_with_handlers_that_are_module_level_functions() -> None:
    original = decided()
    compile_workflow(original)

    for again in (copy(original), deepcopy(original), pickle.loads(pickle.dumps(original))):  # noqa: S301 - our own
        assert again == original == decided()
        assert hash(again) == hash(original)
        assert again != decided().changed(resources={"form": "A form."})
        assert again.steps[0].handler is decide
        assert advance(again, start(again, {"topic": "x"}), Report("done", {"x": "p"})).step == "b"
