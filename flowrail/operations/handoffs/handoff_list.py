"""Show the state of one handoff, or of all open ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from flowrail.formatters.reports.handoff import HandoffAnswer, list_report
from flowrail.machines.frozen import INTERNAL
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.handoffs.send import answer_of
from flowrail.operations.operation import Help, operation
from flowrail.text.phrases import count
from flowrail.text.report import Report


@dataclass(frozen=True)
class HandoffList:
    """Handoffs, the oldest first."""

    handoffs: tuple[HandoffAnswer, ...]
    ended: int = field(default=0, metadata=INTERNAL)
    """How many are not listed because they are over."""

    def report(self) -> Report:
        """Return what a person reads."""
        return list_report(self.handoffs, ended=self.ended)


@operation("handoff status", "flow handoff status", "flow handoff status --all")
def show_status(
    environment: Environment,
    handoff: Annotated[str | None, Help("The id of a handoff.", metavar="ID")] = None,
    *,
    all: Annotated[bool, Help("Include handoffs that are over.")] = False,  # noqa: A002
) -> HandoffAnswer | HandoffList:
    """Show the status of one handoff, or of all open ones

    Changes nothing.
    """
    handoffs = handoffs_of(environment)
    if handoff is not None:
        return answer_of(environment, handoffs.read(handoff))
    unreadable: list[str] = []
    known = sorted(handoffs.all(unreadable), key=lambda item: item.started_at)
    shown = tuple(answer_of(environment, item) for item in known if all or item.is_open)
    if unreadable:
        audit = environment.command("audit")
        number = count(len(unreadable), "handoff")
        environment.tell(f"{number} cannot be read or foreign; see {audit}")
    return HandoffList(shown, len(known) - len(shown))
