"""Pictures of workflows and sessions for Python programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import mermaid, svg
from flowrail.diagrams.session_trace import with_trace
from flowrail.machines.workflow import Workflow

if TYPE_CHECKING:
    from flowrail.operations.session_store import SessionView


def to_mermaid(subject: Workflow | SessionView) -> str:
    """Return a workflow, or a session with its path through its workflow, as a Mermaid flowchart."""
    return mermaid.render(_picture(subject))


def to_svg(subject: Workflow | SessionView) -> str:
    """Return a workflow, or a session with its path through its workflow, as an SVG document."""
    shown = _picture(subject)
    return svg.render(shown, name=f"flow-{shown.name.replace('/', '-')}")


def _picture(subject: Workflow | SessionView) -> Picture:
    if isinstance(subject, Workflow):
        return picture(subject)
    return with_trace(picture(subject.workflow), subject.history())
