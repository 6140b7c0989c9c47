"""A workflow with its picture, the rows of its table of steps, and the state of a session in a sentence."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.diagrams.model import Picture
from flowrail.machines.definition.workflow import Workflow

STEPS = ("#", "Step", "Phase", "Notes")


class WorkflowPicture(NamedTuple):
    """A picture and its workflow; `None` for the picture of another machine, such as the handoff's."""

    workflow: Workflow | None
    picture: Picture

    @property
    def name(self) -> str:
        """The name of the workflow or machine."""
        return self.workflow.name if self.workflow is not None else self.picture.name

    @property
    def description(self) -> str:
        """Its whole description."""
        return self.workflow.description if self.workflow is not None else self.picture.description


def step_rows(picture: Picture) -> list[list[str]]:
    """Return number, title, phase and notes of every step."""
    return [
        [str(node.number or ""), node.title, node.phase or "", "; ".join(picture.notes(node))]
        for node in picture.nodes
        if node.is_step
    ]


def session_summary(picture: Picture) -> str:
    """Return the state of the session and what is left; an empty text without a session."""
    trace = picture.trace
    if trace is None:
        return ""
    titles = {
        node.id: f"{node.number} · {node.title}" if node.number else node.title for node in picture.nodes
    }
    place = f", at {titles.get(trace.current, trace.current)}" if trace.current else ""
    moves = sum(bool(entry.path) for entry in trace.entries)
    summary = (
        f"Session {trace.session}: {trace.status}{place}, after {moves} {'move' if moves == 1 else 'moves'}."
    )
    left = [titles[node.id] for node in picture.nodes if node.is_step and trace.state(node) == "left"]
    return f"{summary} Still to come: {', '.join(left)}." if left else summary
