"""Hypothesis strategies for valid workflows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate import GateConfig
from flowrail.machines.outcome import Outcome
from flowrail.machines.question import Option, Question
from flowrail.machines.step import Rule, StepDef
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow

_IDS = ("look", "plan", "build", "review", "tell", "send", "class", "a-b", "ok")
_PARAMS = {"mode": Arg(choices=("quick", "full"), default="full")}
_FACTS = {"sure": Arg(choices=("low", "high"), required=True), "count": Arg(type="integer", min=0, max=3)}
_CONDITIONS = ("mode == 'full'", "sure == 'high'", "visit > 1", "count > 1")


@st.composite
def workflows(draw: st.DrawFn, *, most: int = 6, agents: bool = True) -> Workflow:
    """Return a valid workflow with loops, limits, conditions, rules, questions, gates and dispatches.

    It has at most *most* steps. Each step leads to the next one, so that every step can be reached and left.
    ``agents=False`` leaves out questions, gates and dispatches.
    """
    ids = draw(st.lists(st.sampled_from(_IDS), min_size=1, max_size=most, unique=True))
    kinds = ["agent", "agent", "rules", *(["questions", "dispatch", "gate"] if agents else [])]
    steps: list[StepDef] = []
    for step_id, following in zip(ids, [*ids[1:], None], strict=True):
        kind = draw(st.sampled_from(kinds))
        if kind == "gate" and steps and steps[-1].gate is None:
            steps[-1] = replace(steps[-1], when=None)  # a gate needs the findings of its review
            gate = GateConfig(step_id.title(), review=steps[-1].id, limit=draw(st.integers(1, 3)))
            targets = {Outcome.OK: following, Outcome.FAIL: steps[-1].id}
            steps.append(StepDef(step_id, step_id.title(), ["Decide."], next=targets, gate=gate))
        else:
            earlier = [step.id for step in steps if step.gate is None]
            steps.append(_step(draw, step_id, earlier, following, kind))
    return Workflow("at-random", *steps, params=_PARAMS)


def _step(draw: st.DrawFn, step_id: str, earlier: list[str], following: str | None, kind: str) -> StepDef:
    targets: dict[Outcome, str | None] = {Outcome.OK: following}
    for outcome in draw(st.sets(st.sampled_from([Outcome.FAIL, Outcome.ITERATE]))):
        targets[outcome] = draw(st.sampled_from([*earlier, step_id, None]))
    outcomes = st.sampled_from([str(outcome) for outcome in targets])
    parts: dict[str, Any] = {}
    if kind == "rules":
        rules = st.lists(st.builds(Rule, outcomes, st.sampled_from(_CONDITIONS)), max_size=2)
        parts["rules"] = [*draw(rules), Rule("ok")]
    elif kind == "questions":
        options = [Option("Yes", outcome="ok"), Option("No", outcome=draw(outcomes))]
        parts["questions"] = [Question("go", "Go", "What next?", options)]
    elif kind == "dispatch":
        targets.setdefault(Outcome.FAIL, None)
        join = draw(st.sampled_from(["all", "any", "at least 2"]))
        parts["dispatch"] = Dispatch("explore", over=("a", "b"), join=join, prompt=("Look at $item.",))
    reports = draw(st.sampled_from([{}, _FACTS])) if earlier and kind != "questions" else {}
    return StepDef(
        step_id,
        step_id.title(),
        [f"Do {step_id}."],
        next=targets,
        limit=draw(st.none() | st.integers(1, 3)),
        when=draw(st.none() | st.sampled_from(_CONDITIONS)) if earlier else None,
        reports=reports if earlier else _FACTS,
        **parts,
    )
