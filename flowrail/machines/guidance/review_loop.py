"""The state of a review loop: at its gate, at its review, and at the step that fixes what was found."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.machines.gate_verdict import (
    GateVerdict,
    blocking_now,
    gates,
    is_undecided,
    judge,
    round_findings,
)
from flowrail.machines.outcome_decision import name_of, session_context
from flowrail.machines.session import RecordedFinding, Session
from flowrail.machines.severities import Severity
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

REVIEW, PASSED, FAILED, ASK_USER, REVERIFY, FIX = "review", "passed", "failed", "ask-user", "re-verify", "fix"


class ReviewLoop(NamedTuple):
    """The state of a review loop, at its gate, at its review, or at the step that it sent back to."""

    gate: str
    name: str
    round: int
    limit: int
    mode: str
    """At a gate: review, passed, failed or ask-user. At a review that was entered again: re-verify. At the work: fix."""
    severities: tuple[str, ...] = ()
    """The severities that block in this round."""
    blocking: tuple[str, ...] = ()
    """The findings that block."""
    fixed_in: str | None = None
    """The step that fixes them."""
    unreviewed: bool = False
    """Whether the review of the round failed without recording a finding."""


def loop_at(workflow: Workflow, step: StepDef, session: Session) -> ReviewLoop | None:
    """Return the state of the review loop whose gate *step* is, or in which it was entered again."""
    own_gates, last, visits = gates(workflow), session.last, session.visits
    reviewed = next((name for name, config in own_gates.items() if config.review == step.id), None)
    sent_back = last.step if last is not None and last.outcome == Outcome.FAIL else None
    if step.gate is not None:
        gate, mode = step, REVIEW
    elif reviewed is not None:
        gate, mode = workflow.step(reviewed), REVERIFY
    elif sent_back in own_gates:
        gate, mode = workflow.step(str(sent_back)), FIX
    else:
        return None
    if mode == REVERIFY and session.visit <= 1:
        return None
    config, limit = own_gates[gate.id], session.allowed(gate.id, gate.bound or 1)
    judged, fixes = GateVerdict(()), None
    if mode == REVIEW and is_undecided(session, gate.id, config):
        judged, fixes = judge(gate.id, config, session), workflow.get(gate.next_step(Outcome.FAIL))
        mode = PASSED if judged.outcome is Outcome.OK else ASK_USER if session.visit >= limit else FAILED
    elif mode == FIX:
        judged, fixes = judge(gate.id, config, session), step
    severities = blocking_now(config, session, gate.id) if mode != REVERIFY else ()
    return ReviewLoop(
        gate=gate.id,
        name=config.name or _name(workflow, gate, session, visits.get(gate.id, 1)),
        round=visits.get(gate.id, 1) if mode == FIX else session.visit,
        limit=limit,
        mode=mode,
        severities=tuple(severity for severity in Severity if severity in severities),
        blocking=tuple(finding.id for finding in judged.blocking),
        fixed_in=_name(workflow, fixes, session, visits.get(fixes.id, 0) + (mode != FIX)) if fixes else None,
        unreviewed=judged.unreviewed,
    )


def findings_at(workflow: Workflow, step: StepDef, session: Session) -> tuple[RecordedFinding, ...]:
    """Return the findings of this round that matter at the step: its own, its gate's, or those it fixes."""
    loop = loop_at(workflow, step, session)
    gate = gates(workflow)[loop.gate] if loop is not None and loop.mode == FIX else step.gate
    return round_findings(session, step.id if gate is None else gate.review)


def _name(workflow: Workflow, step: StepDef, session: Session, visit: int) -> str:
    """Return the title of a step in one of its attempts."""
    return name_of(step, session_context(workflow, session, step, visit=visit))
