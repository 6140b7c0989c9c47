"""The findings of a review, as its reviewer records them and the agent that fixes them resolves them.

Its gate decides from them: see `verdict` of `flowrail.machines.engine.outcome`.
"""

from __future__ import annotations

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.definition.step_parts import GateConfig, Severity
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import is_undecided, round_findings
from flowrail.machines.sessions.session import RecordedFinding, Session
from flowrail.text import phrases


class RoundClosedError(ConflictError):
    """The review has ended and its gate has not decided yet; the finding cannot be withdrawn now."""

    code = "ROUND_CLOSED"


class UnknownFindingError(UsageError):
    """The session has no such finding."""

    code = "UNKNOWN_FINDING"


class BadFindingError(UsageError):
    """The finding cannot be recorded, for example because it has no text."""

    code = "BAD_FINDING"


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
    item: str | None = None,
    at: str = "",
    by: str = "",
) -> tuple[Session, RecordedFinding]:
    """Return *session* with one more finding, which belongs to the review at hand.

    The same finding of the same author in one round is recorded once.
    """
    known = session.findings
    word = severity.upper()
    if word not in Severity.__members__:
        raise BadFindingError(
            f"unknown severity `{severity[:40]}`",
            hint=phrases.did_you_mean(word[:40], Severity, f"use one of {phrases.listed(Severity)}"),
        )
    if not text.strip():
        raise BadFindingError("the finding has no text", hint="describe the problem")
    review = _review_at_hand(workflow, session)
    same = (word, text.strip(), item, place, by)
    for finding in round_findings(session, review) if review else ():
        if same == (finding.severity, finding.text, finding.item, finding.place, finding.by):
            return session, finding
    earlier = [finding for finding in known if item is not None and finding.item == item]
    finding = RecordedFinding(
        id=f"F{len(known) + 1}",
        severity=word,
        text=text.strip(),
        review=review,
        round=session.visits.get(review, 0) if review else 0,
        revision=session.revision,
        item=item,
        place=place,
        version=len(earlier) + 1,
        at=at,
        by=by,
    )
    return session._replace(findings=(*known, finding)), finding


def refuse_no_findings(workflow: Workflow, session: Session) -> None:
    """Refuse to record that a review found nothing if its round has open findings."""
    review = _review_at_hand(workflow, session)
    found = [finding.id for finding in round_findings(session, review)] if review else []
    if found:
        raise BadFindingError(
            f"this review has open findings: {phrases.listed(found)}",
            hint=Hint("withdraw them first: ", Command("finding resolve", session.id, found[0])),
            findings=found,
        )


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
        raise UnknownFindingError(
            f"session `{session.id}` has no finding `{finding_id[:40]}`",
            hint=phrases.did_you_mean(
                finding_id[:40], ids, Hint("see all: ", Command("finding list", session.id))
            ),
            findings=ids,
        )
    for step_id, gate in gates(workflow).items():
        if finding in round_findings(session, gate.review) and is_undecided(session, step_id, gate):
            _refuse_to_take_away(session, step_id, gate, finding, by)
    settled = finding._replace(resolved_at=at or "resolved", resolution=note) if finding.is_open else finding
    recorded = tuple(settled if finding.id == finding_id else finding for finding in known)
    return session._replace(findings=recorded), settled


def _refuse_to_take_away(
    session: Session, step_id: str, gate: GateConfig, finding: RecordedFinding, by: str
) -> None:
    """Refuse to resolve a finding before the gate has decided, except by its reviewer during the review."""
    at_work = session.step == gate.review
    if at_work and by == finding.by:
        return
    raise RoundClosedError(
        f"finding `{finding.id}` was recorded by `{finding.by}`, and only its author can withdraw it"
        if at_work
        else f"the review of `{step_id}` has ended with finding `{finding.id}` recorded",
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
