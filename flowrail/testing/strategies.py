"""Hypothesis strategies for valid workflows, reachable sessions, parameters and actions.

Hypothesis is not a dependency of flowrail; install it to use this module.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from flowrail.errors import FlowError
from flowrail.machines.definition.step import Outcome, Rule, StepDef
from flowrail.machines.definition.step_parts import Dispatch, GateConfig, Option, Question
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import start
from flowrail.machines.exploration.actions import (
    Act,
    acts,
    perform,
    starts,
)
from flowrail.machines.sessions.session import Session

IDS = ("look", "plan", "build", "review", "tell", "send", "class", "a-b", "ok")
PARAMS = {"mode": Arg(choices=("quick", "full"), default="full")}
SURE = Arg(choices=("low", "high"), required=True)
CONDITIONS = ("mode == 'full'", "sure == 'high'", "visit > 1", "count > 1")


@st.composite
def workflows(draw: st.DrawFn, *, most: int = 6, agents: bool = True, name: str = "at-random") -> Workflow:
    """Return a valid workflow with random loops, limits, conditions, rules, questions, gates and dispatches.

    Each step leads to the next one, so that every step can be reached and left; ``agents=False`` leaves out
    questions, gates and dispatches.
    """
    ids = draw(st.lists(st.sampled_from(IDS), min_size=1, max_size=most, unique=True))
    kinds = ["agent", "agent", "rules", *(["questions", "dispatch", "gate"] if agents else [])]
    steps: list[StepDef] = []
    for place, step_id in enumerate(ids):
        kind = draw(st.sampled_from(kinds))
        if kind == "gate" and steps and steps[-1].gate is None:
            steps[-1] = replace(steps[-1], when=None)  # a gate needs the findings of its review
            steps.append(_gate(draw, step_id, steps[-1].id, ids[place + 1 :]))
        else:
            before = [step.id for step in steps if step.gate is None]
            steps.append(_step(draw, step_id, before, ids[place + 1 :], kind))
    return Workflow(name, *steps, params=PARAMS)


def sessions(workflow: Workflow, *, most: int = 12) -> st.SearchStrategy[Session]:
    """Return reachable sessions of *workflow*: new, in progress, waiting or ended."""

    @st.composite
    def walked(draw: st.DrawFn) -> Session:
        session = start(workflow, draw(parameters(workflow)))
        for _ in range(draw(st.integers(0, most))):
            if not session.is_open:
                break
            session = _moved(workflow, session, draw(actions(workflow, session)))
        return session

    return walked()


def parameters(workflow: Workflow) -> st.SearchStrategy[Mapping[str, object]]:
    """Return parameters to start *workflow* with."""
    return st.sampled_from(list(starts(workflow)))


def actions(workflow: Workflow, session: Session) -> st.SearchStrategy[Act]:
    """Return what can be done in an open *session*; `flowrail.testing.perform` does it."""
    return st.sampled_from(list(acts(workflow, session)))


def _moved(workflow: Workflow, session: Session, act: Act) -> Session:
    try:
        return perform(workflow, session, act)
    except FlowError:  # an author's function may raise, and a report may be refused
        return session


def _gate(draw: st.DrawFn, step_id: str, review: str, later: list[str]) -> StepDef:
    limit = draw(st.integers(1, 3))
    ways: dict[Outcome, str | None] = {Outcome.OK: later[0] if later else None, Outcome.FAIL: review}
    gate = GateConfig(step_id.title(), review=review, limit=limit)
    return StepDef(step_id, step_id.title(), [f"Decide {step_id}."], next=ways, gate=gate)


def _step(draw: st.DrawFn, step_id: str, before: list[str], later: list[str], kind: str) -> StepDef:
    after = later[0] if later else None
    back = st.sampled_from([*before, step_id, None])
    limit = draw(st.none() | st.integers(1, 3))
    ways: dict[Outcome, str | None] = {Outcome.OK: after}
    for outcome in draw(st.sets(st.sampled_from([Outcome.FAIL, Outcome.ITERATE]))):
        ways[outcome] = draw(back)
    when = draw(st.none() | st.sampled_from(CONDITIONS)) if before else None
    reports = {"sure": SURE, "count": Arg(type="integer", min=0, max=3)}
    parts: dict[str, Any] = {}
    named = list(ways)
    if kind == "rules":
        drawn = st.builds(Rule, st.sampled_from(named).map(str), st.sampled_from(CONDITIONS))
        parts["rules"] = [*draw(st.lists(drawn, max_size=2)), Rule("ok")]
    elif kind == "questions":
        options = tuple(Option(f"Way {outcome}", outcome=str(outcome)) for outcome in named)
        options = options if len(options) > 1 else (*options, Option("Also ok", outcome="ok"))
        parts["questions"] = [Question("go", "Go", "What next?", options)]
    elif kind == "dispatch":
        ways.setdefault(Outcome.FAIL, None)
        join = draw(st.sampled_from(["all", "any", "at least 2"]))
        parts["dispatch"] = Dispatch("explore", None, ("a", "b"), {}, join, None, ("Look at $item.",))
    declared = reports if not before else draw(st.sampled_from([{}, reports]))
    return StepDef(
        step_id,
        step_id.title(),
        [f"Do {step_id}."],
        next=ways,
        limit=limit,
        when=when,
        reports={} if kind == "questions" and before else declared,
        **parts,
    )
