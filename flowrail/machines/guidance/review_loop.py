"""The state of a review loop: at its gate, at its review, and at the step that fixes what was found."""

from __future__ import annotations

from dataclasses import dataclass

from flowrail.machines.gate_verdict import GateVerdict, blocking_now, gates, round_findings, verdict
from flowrail.machines.outcome_decision import name_of, session_context
from flowrail.machines.reported_values import ReviewPendingError
from flowrail.machines.session import RecordedFinding, Session
from flowrail.machines.severities import Severity
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

REVIEW, PASSED, FAILED, ASK_USER, REVERIFY, FIX = "review", "passed", "failed", "ask-user", "re-verify", "fix"


@dataclass(frozen=True)
class ReviewLoop:
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
    if step.gate is not None:
        return _at_gate(workflow, step, session)
    own_gates, last = gates(workflow), session.last
    gate = next((name for name, config in own_gates.items() if config.review == step.id), None)
    if gate is not None:
        return _loop(workflow, gate, session, REVERIFY, session.visit) if session.visit > 1 else None
    if last is not None and last.step in own_gates and last.outcome == Outcome.FAIL:
        return _sent_back(workflow, last.step, session)
    return None


def findings_at(workflow: Workflow, step: StepDef, session: Session) -> tuple[RecordedFinding, ...]:
    """Return the findings of this round that matter at the step: its own, its gate's, or those it fixes."""
    loop = loop_at(workflow, step, session)
    gate = gates(workflow)[loop.gate] if loop is not None and loop.mode == FIX else step.gate
    return round_findings(session, step.id if gate is None else gate.review)


def _at_gate(workflow: Workflow, step: StepDef, session: Session) -> ReviewLoop:
    try:
        judged = verdict(step, session)
    except ReviewPendingError:
        return _loop(workflow, step.id, session, REVIEW, session.visit)
    is_last = session.visit >= session.allowed(step.id, step.bound or 1)
    mode = PASSED if judged.outcome is Outcome.OK else ASK_USER if is_last else FAILED
    fixed_in = _name(workflow, step.next_step(Outcome.FAIL), session, 1)
    return _loop(workflow, step.id, session, mode, session.visit, judged, fixed_in)


def _sent_back(workflow: Workflow, gate: str, session: Session) -> ReviewLoop:
    """Return the loop for the step that fixes the findings of the failed round."""
    config = gates(workflow)[gate]
    severities = blocking_now(config, session, gate)
    since = session.entered.get(config.review, 0)
    judged = GateVerdict(
        tuple(found for found in round_findings(session, config.review) if found.severity in severities),
        # a preview has nothing on record
        bool(session.id) and not any(finding.revision >= since for finding in session.findings),
    )
    round_ = session.visits.get(gate, 1)
    return _loop(workflow, gate, session, FIX, round_, judged, _name(workflow, session.step, session))


def _loop(
    workflow: Workflow,
    gate: str,
    session: Session,
    mode: str,
    round_: int,
    judged: GateVerdict = GateVerdict(()),  # noqa: B008 - a constant
    fixed_in: str | None = None,
) -> ReviewLoop:
    step, config = workflow.step(gate), gates(workflow)[gate]
    severities = blocking_now(config, session, gate) if mode != REVERIFY else ()
    return ReviewLoop(
        gate=gate,
        name=config.name or str(_name(workflow, gate, session, int(gate not in session.visits))),
        round=round_,
        limit=session.allowed(gate, step.bound or 1),
        mode=mode,
        severities=tuple(severity for severity in Severity if severity in severities),
        blocking=tuple(finding.id for finding in judged.blocking),
        fixed_in=fixed_in,
        unreviewed=judged.unreviewed,
    )


def _name(workflow: Workflow, step_id: str | None, session: Session, more: int = 0) -> str | None:
    """Return the title of a step in its newest attempt, or so many attempts later."""
    step = workflow.get(step_id)
    if step is None:
        return None
    visit = session.visits.get(step.id, 0) + more
    return name_of(step, session_context(workflow, session, step, visit=visit))
