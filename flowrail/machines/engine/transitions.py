"""What a step's limit makes of an outcome: the last `iterate` goes on, a `fail` too many asks the user."""

from __future__ import annotations

from flowrail.machines.definition.graph import leads_back
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.session import Session


def is_capped(step: StepDef, session: Session, outcome: Outcome) -> bool:
    """Return whether the limit turns *outcome* into the way of `ok`."""
    return outcome is Outcome.ITERATE and step.limit is not None and session.visit >= step.limit


def asks_user(workflow: Workflow, step: StepDef, session: Session, outcome: Outcome) -> bool:
    """Return whether *outcome* would lead back once more than the limit and the user allow."""
    if outcome is not Outcome.FAIL or step.bound is None:
        return False
    if session.visit < session.allowed(step.id, step.bound):
        return False
    return leads_back(workflow, step.id, step.way(Outcome.FAIL))
