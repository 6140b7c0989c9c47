"""Pictures of workflows and sessions for Python programs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import mermaid, svg
from flowrail.diagrams.session_trace import with_trace
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.record import Record


class RecordedSession(Protocol):
    """A session that can be drawn: its workflow and its records."""

    @property
    def workflow(self) -> Workflow:
        """The session's workflow."""
        ...

    def history(self) -> Iterable[Record]:
        """Return the session's records, oldest first."""
        ...


def to_mermaid(subject: Workflow | RecordedSession) -> str:
    """Return a workflow, or a session with its path through its workflow, as a Mermaid flowchart."""
    return mermaid.render(_picture(subject))


def to_svg(subject: Workflow | RecordedSession) -> str:
    """Return a workflow, or a session with its path through its workflow, as an SVG document."""
    shown = _picture(subject)
    return svg.render(shown, name=f"flow-{shown.name.replace('/', '-')}")


def _picture(subject: Workflow | RecordedSession) -> Picture:
    if isinstance(subject, Workflow):
        return picture(subject)
    return with_trace(picture(subject.workflow), subject.history())
