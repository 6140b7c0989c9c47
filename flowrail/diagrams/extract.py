"""The picture of a workflow: nodes and arrows, without a layout.

A workflow is drawn from its definition, so that one with findings can be drawn too. Its limits come from the
function that also gives the compiled machine its guards.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowrail.diagrams.model import Arrow, Node, NodeKind, Picture
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.next_step import is_limited, outcome_at_limit
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.text.phrases import count
from flowrail.text.safe_text import shortened

START = ":start"


def picture(workflow: Workflow) -> Picture:
    """Return the picture of *workflow*; transitions to steps that do not exist are left out."""
    steps: dict[str, StepDef] = {}
    nodes = [Node(START, NodeKind.START, "start")] if workflow.entry in workflow else []
    arrows = [Arrow(START, str(workflow.entry))] if nodes else []
    for number, step in enumerate(workflow.steps, start=1):
        if steps.setdefault(step.id, step) is not step:  # a definition with errors may have an id twice
            continue
        leaving = _arrows(workflow, step)
        targets = {arrow.target for arrow in leaving}
        has_limit = any(arrow.limit is not None for arrow in leaving)
        guards = [pattern for pattern, allowed in workflow.guards.items() if step.id in allowed]
        node = _node(step, number, guards, bound_shown=has_limit)
        nodes.append(node)
        nodes += (
            Node(end_id(step.id, kind), kind, str(kind), phase=node.phase)
            for kind in (NodeKind.COMPLETED, NodeKind.FAILED)
            if end_id(step.id, kind) in targets
        )
        arrows += leaving
    return Picture(shortened(workflow.name), shortened(workflow.description), tuple(nodes), tuple(arrows))


def end_id(source: str, kind: NodeKind) -> str:
    """Return the id of the end beside a step; no step id can have a colon."""
    return f"{source}:{kind}"


def _arrows(workflow: Workflow, step: StepDef) -> list[Arrow]:
    """Return one arrow for each target, with all outcomes that lead along it."""
    outcomes_by_target: dict[str, list[Outcome]] = {}
    for outcome, target in step.transitions.items():
        if target is None or target in workflow:
            end = end_id(step.id, NodeKind.FAILED if outcome is Outcome.FAIL else NodeKind.COMPLETED)
            outcomes_by_target.setdefault(end if target is None else target, []).append(outcome)
    arrows = []
    for target, outcomes in outcomes_by_target.items():
        names = tuple(str(outcome) for outcome in outcomes if outcome in step.next)
        limited = [outcome for outcome in outcomes if is_limited(workflow, step, outcome)]
        at_limit = dict.fromkeys(outcome_at_limit(step, outcome) for outcome in limited)
        arrows.append(
            Arrow(
                step.id,
                target,
                names if len(names) == len(outcomes) else (*names, "any other"),
                step.bound if limited else None,
                then=" / ".join("ok" if end == Outcome.OK else "the user decides" for end in at_limit),
                every=tuple(map(str, outcomes)),
            )
        )
    return arrows


def _node(step: StepDef, number: int, guards: Sequence[str], *, bound_shown: bool) -> Node:
    when = None if step.when is None else ("computed" if callable(step.when) else shortened(step.when, 80))
    return Node(
        step.id,
        _kind(step),
        shortened(step.name, 160),
        number,
        shortened(step.phase, 80) if step.phase else None,
        step.bound,
        when,
        (
            *_notes(step, when, bound_shown=bound_shown),
            *(f"allowed only here: {shortened(text, 60)}" for text in guards),
        ),
        step.work.workflow if step.work is not None else None,
    )


def _kind(step: StepDef) -> NodeKind:
    if step.gate is not None:
        return NodeKind.GATE
    if step.questions:
        return NodeKind.ASK
    if step.work is not None:
        return NodeKind.AGENTS if step.work.over is not None else NodeKind.AGENT
    return NodeKind.DECIDE if step.decides else NodeKind.STEP


def _notes(step: StepDef, when: str | None, *, bound_shown: bool) -> Iterator[str]:
    if when is not None:
        yield f"only when {when}"
    if step.gate is not None:
        yield f"gate on {shortened(step.gate.review, 40)}"
    if step.questions:
        by_person = any(question.person for question in step.questions)
        yield "only a person may answer" if by_person else "asks the user"
    if step.work is not None:
        yield _agents_note(step.work)
        if step.work.workflow is not None:
            yield f"runs {shortened(step.work.workflow, 80)}"
    if step.bound is not None and not bound_shown:
        yield f"at most {count(step.bound, 'attempt')}"
    if step.commands:
        commands = (f"{name} (once)" if declared.once else name for name, declared in step.commands.items())
        yield shortened(f"commands: {', '.join(commands)}", 120)
    outcomes_by_checks: dict[str, list[str]] = {}
    for outcome, checks in step.evidence.items():
        outcomes_by_checks.setdefault(", ".join(check.id for check in checks), []).append(outcome)
    for names, outcomes in outcomes_by_checks.items():
        yield shortened(f"{' / '.join(outcomes)} needs evidence: {names}", 120)


def _agents_note(work: Dispatch) -> str:
    role = shortened(work.agent, 40)
    if work.over is None:
        return f"agent {role}"
    if isinstance(work.over, str):
        agents = f"agents {role}, one for each of {shortened(work.over, 40)}"
    else:
        agents = f"{len(work.over)} agents {role}"
    return agents if work.join == "all" else f"{agents}, join {shortened(work.join, 20)}"
