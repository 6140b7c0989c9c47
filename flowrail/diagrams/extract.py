"""The picture of a workflow: nodes and arrows, without a layout.

A workflow is drawn from its definition, so that one with findings can be drawn too. Its limits come from the
function that also gives the compiled machine its guards.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from flowrail.diagrams.model import Arrow, Node, NodeKind, Picture
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.step_parts import Dispatch
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.transitions import is_limited
from flowrail.text.phrases import times
from flowrail.text.safe_text import shortened

START = ":start"


class DrawnTransition(NamedTuple):
    """Where one outcome of a step leads; no target is an end. ``limit``: it closes after so many visits."""

    source: str
    outcome: str
    target: str | None
    limit: int | None = None


def picture(workflow: Workflow) -> Picture:
    """Return the picture of *workflow*; ways to steps that do not exist are left out."""
    ways = list(ways_of(workflow))
    ends = {way.source: set[NodeKind]() for way in ways}
    limited = {way.source for way in ways if way.limit is not None}
    for way in ways:
        if way.target is None:
            ends[way.source].add(end_kind(way.outcome))
    nodes: list[Node] = [Node(START, NodeKind.START, "start")] if workflow.entry_point in workflow else []
    seen: set[str] = set()
    for number, step in enumerate(workflow.steps, start=1):
        if step.id in seen:
            continue
        seen.add(step.id)
        drawn = _node(step, number, bound_shown=step.id in limited)
        nodes.append(drawn)
        nodes += (
            Node(end_id(step.id, kind), kind, str(kind), phase=drawn.phase)
            for kind in (NodeKind.COMPLETED, NodeKind.FAILED)
            if kind in ends.get(step.id, ())
        )
    arrows = [Arrow(START, str(workflow.entry_point))] if nodes and nodes[0].id == START else []
    return Picture(
        shortened(workflow.name),
        shortened(workflow.description),
        tuple(nodes),
        (*arrows, *_merged(workflow, ways)),
    )


def ways_of(workflow: Workflow) -> Iterator[DrawnTransition]:
    """Yield every transition in the order of the definition, without those to steps that do not exist."""
    seen: set[str] = set()
    for step in workflow.steps:
        if step.id in seen:
            continue
        seen.add(step.id)
        for outcome, target in step.ways.items():
            if target is None or target in workflow:
                limit = step.bound if is_limited(workflow, step, outcome) else None
                yield DrawnTransition(step.id, str(outcome), target, limit)


def end_kind(outcome: str) -> NodeKind:
    """Return the end that an outcome leads to."""
    return NodeKind.FAILED if outcome == Outcome.FAIL else NodeKind.COMPLETED


def end_id(source: str, kind: NodeKind) -> str:
    """Return the id of the end beside a step; no step id can have a colon."""
    return f"{source}:{kind}"


def _merged(workflow: Workflow, ways: list[DrawnTransition]) -> Iterator[Arrow]:
    """Yield one arrow for each pair of nodes, with all outcomes that lead along it."""
    joined: dict[tuple[str, str], list[DrawnTransition]] = {}
    for way in ways:
        target = way.target if way.target is not None else end_id(way.source, end_kind(way.outcome))
        joined.setdefault((way.source, target), []).append(way)
    for (source, target), along in joined.items():
        limit = next((way.limit for way in along if way.limit is not None), None)
        named = tuple(way.outcome for way in along if _is_named(workflow, way))
        rest = len(named) < len(along)
        every = tuple(way.outcome for way in along)
        yield Arrow(source, target, (*named, "any other") if rest else named, limit, every=every)


def _is_named(workflow: Workflow, way: DrawnTransition) -> bool:
    step = workflow.step(way.source)
    return Outcome(way.outcome) in step.next


def _node(step: StepDef, number: int, *, bound_shown: bool) -> Node:
    when = None if step.when is None else ("computed" if callable(step.when) else shortened(step.when, 80))
    work = step.work
    return Node(
        step.id,
        _kind(step),
        shortened(step.name, 160),
        number,
        shortened(step.phase, 80) if step.phase else None,
        step.bound,
        when,
        tuple(_notes(step, when, work, bound_shown=bound_shown)),
        work.run if work is not None else None,
    )


def _kind(step: StepDef) -> NodeKind:
    if step.gate is not None:
        return NodeKind.GATE
    if step.questions:
        return NodeKind.ASK
    if step.work is not None:
        return NodeKind.AGENTS if step.work.over is not None else NodeKind.AGENT
    return NodeKind.DECIDE if step.decides else NodeKind.STEP


def _notes(step: StepDef, when: str | None, work: Dispatch | None, *, bound_shown: bool) -> Iterator[str]:
    if when is not None:
        yield f"only when {when}"
    if step.gate is not None:
        yield f"gate on {shortened(step.gate.review, 40)}"
    if step.questions:
        yield "asks the user"
    if work is not None:
        yield _team(work)
        if work.run is not None:
            yield f"runs {shortened(work.run, 80)}"
    if step.bound is not None and not bound_shown:
        yield f"at most {times(step.bound)}"


def _team(work: Dispatch) -> str:
    if work.over is None:
        return f"agent {shortened(work.agent, 40)}"
    role = shortened(work.agent, 40)
    many = f"agents {role}, one for each of {shortened(work.over, 40)}" if isinstance(work.over, str) else ""
    many = many or f"{len(work.over)} agents {role}"
    return many if work.join == "all" else f"{many}, join {shortened(work.join, 20)}"
