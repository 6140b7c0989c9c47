"""Workflow to picture. The order is that of the definition, so a picture is the same every time."""

from __future__ import annotations

from flowrail.diagrams.model import Arrow, Node, Picture
from flowrail.machines.definition import Definition, Outcome


def picture(workflow: Definition) -> Picture:
    """Return the picture of *workflow*; ways to steps that do not exist are left out."""
    nodes = tuple(
        Node(step.id, step.name, step.phase, step.limit, step.decides, step.when is not None)
        for step in workflow.steps
    )
    arrows = tuple(
        Arrow(
            step.id,
            "any other" if outcome is Outcome.DEFAULT else str(outcome),
            target,
            outcome is Outcome.FAIL,
        )
        for step in workflow.steps
        for outcome, target in step.next.items()
        if target is None or target in workflow
    )
    return Picture(workflow.name, workflow.entry_point, nodes, arrows)
