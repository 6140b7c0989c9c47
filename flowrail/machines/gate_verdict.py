"""Reviews: the verdict of a gate, and the findings, which the reviewer records and the agent that fixes them resolves.

A gate decides from the findings that its own round recorded, those since its review was last entered; earlier
rounds do not count. It never relies on what an agent reports.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.reported_values import ReviewPendingError
from flowrail.machines.session import RecordedFinding, Session
from flowrail.machines.severities import DEFAULT_POLICY, Severity, blocking_severities
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.outcome import DONE, Outcome
from flowrail.text import phrases
from flowrail.text.safe_text import shortened

MOST_NAMED = 12
"""How many blocking findings a refusal lists, each with the beginning of its text."""


class GateVerdict(NamedTuple):
    """The decision of a gate on its round: the findings that block."""

    blocking: tuple[RecordedFinding, ...]
    unreviewed: bool = False
    """Whether the review failed and recorded no finding, so that there is nothing to fix and no proof of quality."""

    @property
    def outcome(self) -> Outcome:
        """The outcome that follows from the findings."""
        return Outcome.FAIL if self.blocking or self.unreviewed else Outcome.OK


def judge(step_id: str, gate: GateConfig, session: Session) -> GateVerdict:
    """Return the verdict that the findings of its newest round give a gate, even if it has not decided yet."""
    last, since = session.last, session.entered.get(gate.review, 0)
    has_failed = last is not None and last.outcome == Outcome.FAIL and last.step in {gate.review, step_id}
    recorded = any(known.review == gate.review and known.revision >= since for known in session.findings)
    severities, findings = blocking_now(gate, session, step_id), round_findings(session, gate.review)
    return GateVerdict(
        blocking=tuple(finding for finding in findings if finding.severity in severities),
        unreviewed=bool(session.id) and has_failed and not recorded,  # a preview has nothing on record
    )


def round_findings(session: Session, review: str) -> tuple[RecordedFinding, ...]:
    """Return the open findings of a review's newest round: those recorded since it was entered last."""
    if review not in session.entered:
        return ()
    since = session.entered[review]
    return tuple(finding for finding in session.open_findings if finding.revision >= since)


def blocking_now(gate: GateConfig, session: Session, step_id: str) -> frozenset[str]:
    """Return the severities that block in the current round."""
    policy = gate.policy or DEFAULT_POLICY
    named = session.params.get(policy[1:]) if policy.startswith("$") else policy
    return blocking_severities(max(1, session.visits.get(step_id, 1)), str(named))


def decide_gate(step: StepDef, session: Session, *, reported: str = DONE) -> Outcome:
    """Return the outcome of the gate at *step*, which decides after its review has ended.

    An outcome that was *reported* is refused, with the recorded findings.
    """
    gate = step.gate
    assert gate is not None  # noqa: S101 - only gates are asked
    if not is_undecided(session, step.id, gate):
        raise ReviewPendingError(
            f"gate `{step.id}` cannot decide: its review `{gate.review}` has not ended in this round",
            hint=Hint("see what was done: ", Command("sessions", session.id)),
            step=step.id,
            review=gate.review,
        )
    judged = judge(step.id, gate, session)
    if reported == DONE:
        return judged.outcome
    named = judged.blocking[:MOST_NAMED]
    lines = [f"{finding.id} {finding.severity} {shortened(finding.text)}" for finding in named]
    hint: str | Hint = "report `done`"
    if left := len(judged.blocking) - len(named):
        lines.append(f"and {left} more")
        hint = Hint("report `done`; see all findings: ", Command("finding list", session.id))
    against = f"; these findings block it: {'; '.join(lines)}" if lines else ""
    raise ConflictError(
        f"gate `{step.id}` decides from the recorded findings and does not accept `{reported}`{against}",
        code="GATE_DECIDES",
        hint=hint,
        step=step.id,
        outcome=reported,
        blocking=[finding.id for finding in judged.blocking],
    )


def is_undecided(session: Session, step_id: str, gate: GateConfig) -> bool:
    """Return whether the review of the gate at *step_id* was entered after the gate last decided."""
    return session.entered.get(gate.review, -1) > session.decided.get(step_id, -1)


def gates(workflow: Workflow) -> dict[str, GateConfig]:
    """Return the gates of *workflow* by step."""
    return {step.id: step.gate for step in workflow.steps if step.gate is not None}


def record(
    workflow: Workflow,
    session: Session,
    *,
    severity: str,
    text: str,
    place: str | None = None,
    at: str = "",
    by: str = "",
) -> tuple[Session, RecordedFinding]:
    """Return *session* with one more finding, which belongs to the review at hand.

    The same finding of the same author in one round is recorded once.
    """
    known = session.findings
    word = severity.upper()
    if word not in Severity.__members__:
        raise UsageError(
            f"unknown severity `{severity[:40]}`",
            code="BAD_FINDING",
            hint=phrases.did_you_mean(word[:40], Severity, f"use one of {phrases.listed(Severity)}"),
        )
    if not text.strip():
        raise UsageError("the finding has no text", code="BAD_FINDING", hint="describe the problem")
    review = _review_at_hand(workflow, session)
    same = (word, text.strip(), place, by)
    for finding in round_findings(session, review) if review else ():
        if same == (finding.severity, finding.text, finding.place, finding.by):
            return session, finding
    finding = RecordedFinding(
        id=f"F{len(known) + 1}",
        severity=word,
        text=text.strip(),
        review=review,
        round=session.visits.get(review, 0) if review else 0,
        revision=session.revision,
        place=place,
        at=at,
        by=by,
    )
    return replace(session, findings=(*known, finding)), finding


def resolve(
    workflow: Workflow, session: Session, finding_id: str, *, note: str = "", at: str = "", by: str = ""
) -> tuple[Session, RecordedFinding]:
    """Return *session* with one finding resolved.

    The reviewer who recorded it may withdraw it during the review. After the gate has decided, the agent that fixes
    it may resolve it. In between the round is closed, so that an agent cannot withdraw findings to pass the gate.
    """
    known = session.findings
    finding = next((finding for finding in known if finding.id == finding_id), None)
    if finding is None:
        ids = [finding.id for finding in known]
        raise UsageError(
            f"session `{session.id}` has no finding `{finding_id[:40]}`",
            code="UNKNOWN_FINDING",
            hint=phrases.did_you_mean(
                finding_id[:40], ids, Hint("see all: ", Command("finding list", session.id))
            ),
            findings=ids,
        )
    for step_id, gate in gates(workflow).items():
        if finding in round_findings(session, gate.review) and is_undecided(session, step_id, gate):
            _refuse_to_take_away(session, step_id, gate, finding, by)
    settled = replace(finding, resolved_at=at or "resolved", resolution=note) if finding.is_open else finding
    recorded = tuple(settled if finding.id == finding_id else finding for finding in known)
    return replace(session, findings=recorded), settled


def _refuse_to_take_away(
    session: Session, step_id: str, gate: GateConfig, finding: RecordedFinding, by: str
) -> None:
    """Refuse to resolve a finding before the gate has decided, except by its reviewer during the review."""
    at_work = session.step == gate.review
    if at_work and by == finding.by:
        return
    raise ConflictError(
        f"finding `{finding.id}` was recorded by `{finding.by}`, and only its author can withdraw it"
        if at_work
        else f"the review of `{step_id}` has ended with finding `{finding.id}` recorded",
        code="ROUND_CLOSED",
        hint=f"continue to gate `{step_id}`; blocking findings are fixed and reviewed again"
        if session.step != step_id
        else "report `done`; blocking findings are fixed and reviewed again",
        finding=finding.id,
        step=session.step,
    )


def _review_at_hand(workflow: Workflow, session: Session) -> str | None:
    """Return the review that new findings belong to: the one entered last."""
    known = {gate.review for gate in gates(workflow).values()}
    last = [name for name in session.entered if name in known]
    return max(last, key=lambda name: session.entered[name]) if last else None
