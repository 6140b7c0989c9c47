"""Review gates: recorded findings, and which of them block in which round.

A gate decides from the findings that its own round recorded, those since its review was last
entered; earlier rounds do not count. It never relies on what an agent reports.
"""

from __future__ import annotations

from typing import NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.step_parts import DEFAULT_POLICY, POLICIES, GateConfig, Severity
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.session import RecordedFinding, Session
from flowrail.text import phrases, safe_text

MOST = 500
MOST_NAMED = 12
"""How many of the findings that block a refusal names, each with its beginning."""
LONGEST = 4_000
LONGEST_PLACE = 400


class ReviewPendingError(ConflictError):
    """The gate's review has not ended, so the gate cannot decide."""

    code = "REVIEW_PENDING"


class GateDecidesError(ConflictError):
    """An outcome was reported for a gate, which decides from the recorded findings."""

    code = "GATE_DECIDES"


class RoundClosedError(ConflictError):
    """The review has ended and its gate has not decided yet; the finding cannot be withdrawn now."""

    code = "ROUND_CLOSED"


class UnknownFindingError(UsageError):
    """The session has no such finding."""

    code = "UNKNOWN_FINDING"


class BadFindingError(UsageError):
    """The finding cannot be recorded, for example because it has no text."""

    code = "BAD_FINDING"


class GateVerdict(NamedTuple):
    """The decision of a gate on its round: the findings that block, and those that do not."""

    round: int
    severities: tuple[str, ...]
    blocking: tuple[RecordedFinding, ...]
    others: tuple[RecordedFinding, ...]
    unreviewed: bool = False
    """Whether the review failed and put nothing on record, so that nobody has seen that all is well."""

    @property
    def outcome(self) -> Outcome:
        """The outcome that follows from the findings."""
        return Outcome.FAIL if self.blocking or self.unreviewed else Outcome.OK


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
    """Return *session* with one more finding, which belongs to the review at hand."""
    known = session.findings
    word = severity.upper()
    if word not in Severity.__members__:
        raise BadFindingError(
            f"unknown severity `{severity[:40]}`",
            hint=phrases.did_you_mean(word[:40], Severity, f"use one of {phrases.listed(Severity)}"),
        )
    if not text.strip():
        raise BadFindingError("the finding has no text", hint="describe the problem")
    if len(text) > LONGEST:
        raise BadFindingError(
            f"the finding has {len(text)} characters",
            hint=f"describe the problem in 1 to {LONGEST} characters",
        )
    for named, what in ((place, "place"), (item, "item")):
        if named is not None and len(named) > LONGEST_PLACE:
            raise BadFindingError(
                f"the {what} has {len(named)} characters", hint=f"use at most {LONGEST_PLACE} characters"
            )
    if len(known) >= MOST:
        raise BadFindingError(
            f"{MOST} findings are already recorded", hint="resolve or combine existing findings"
        )
    review = _review_at_hand(workflow, session)
    same = [each for each in known if item is not None and each.item == item]
    finding = RecordedFinding(
        id=f"F{len(known) + 1}",
        severity=word,
        text=text.strip(),
        review=review,
        round=session.visits.get(review, 0) if review else 0,
        revision=session.revision,
        item=item,
        place=place,
        version=len(same) + 1,
        at=at,
        by=by,
    )
    return session._replace(findings=(*known, finding)), finding


def resolve(
    workflow: Workflow, session: Session, finding_id: str, *, note: str = "", at: str = "", by: str = ""
) -> tuple[Session, RecordedFinding]:
    """Return *session* with one finding resolved.

    The reviewer who recorded it may withdraw it during the review. After the gate has decided, the agent that fixes
    it may resolve it. In between the round is closed, otherwise any gate could be argued open.
    """
    known = session.findings
    found = next((each for each in known if each.id == finding_id), None)
    if found is None:
        ids = [each.id for each in known]
        raise UnknownFindingError(
            f"session `{session.id}` has no finding `{finding_id[:40]}`",
            hint=phrases.did_you_mean(
                finding_id[:40], ids, Hint("see all: ", Command("finding list", session.id))
            ),
            findings=ids,
        )
    if len(note) > LONGEST:
        raise BadFindingError(
            f"the note has {len(note)} characters", hint=f"use at most {LONGEST} characters"
        )
    for step_id, gate in gates(workflow).items():
        if found in round_findings(session, gate.review) and _is_undecided(session, step_id, gate):
            _refuse_to_take_away(session, step_id, gate, found, by)
    settled = found._replace(resolved_at=at or "resolved", resolution=note) if found.is_open else found
    recorded = tuple(settled if finding.id == finding_id else finding for finding in known)
    return session._replace(findings=recorded), settled


def _is_undecided(session: Session, step_id: str, gate: GateConfig) -> bool:
    return session.entered.get(gate.review, -1) > session.decided.get(step_id, -1)


def _refuse_to_take_away(
    session: Session, step_id: str, gate: GateConfig, found: RecordedFinding, by: str
) -> None:
    """Refuse to resolve a finding before the gate has decided, except by its reviewer during the review."""
    at_work = session.step == gate.review
    if at_work and by == found.by:
        return
    raise RoundClosedError(
        f"finding `{found.id}` was recorded by `{found.by}`, and only its author can withdraw it"
        if at_work
        else f"the review of `{step_id}` has ended with finding `{found.id}` recorded",
        hint=f"continue to gate `{step_id}`; blocking findings are fixed and reviewed again"
        if session.step != step_id
        else "report `done`; blocking findings are fixed and reviewed again",
        finding=found.id,
        step=session.step,
    )


def verdict(step: StepDef, session: Session) -> GateVerdict:
    """Return the decision of the gate at *step*; refuse if its review has not ended."""
    gate = step.gate
    assert gate is not None  # noqa: S101 - only gates are asked
    if not _is_undecided(session, step.id, gate):
        raise ReviewPendingError(
            f"gate `{step.id}` cannot decide: its review `{gate.review}` has not ended in this round",
            hint=Hint("see what was done: ", Command("history", session.id)),
            step=step.id,
            review=gate.review,
        )
    number = session.visits.get(step.id, 1)
    severities = blocking_now(gate, session, step.id)
    own = round_findings(session, gate.review)
    return GateVerdict(
        round=number,
        severities=tuple(severity for severity in Severity if severity in severities),
        blocking=tuple(each for each in own if each.severity in severities),
        others=tuple(each for each in own if each.severity not in severities),
        unreviewed=failed_empty(session, gate.review),
    )


def failed_empty(session: Session, review: str) -> bool:
    """Return whether *review* just ended with `fail` and recorded no finding in its round."""
    last = session.last
    if last is None or last.step != review or last.outcome != Outcome.FAIL:
        return False
    since = session.entered.get(review, 0)
    return not any(each.review == review and each.revision >= since for each in session.findings)


def round_findings(session: Session, review: str) -> tuple[RecordedFinding, ...]:
    """Return the open findings of a review's newest round: those recorded since it was entered last."""
    if review not in session.entered:
        return ()
    since = session.entered[review]
    return tuple(each for each in session.findings if each.is_open and each.revision >= since)


def blocking_now(gate: GateConfig, session: Session, step_id: str) -> frozenset[str]:
    """Return the severities that block in the current round."""
    if session.granted(step_id).must_only:
        return frozenset({Severity.MUST})
    policy = POLICIES.get(gate.policy or "", DEFAULT_POLICY)
    return frozenset(policy.blocking(max(1, session.visits.get(step_id, 1))))


def refuse_claim(step: StepDef, session: Session, outcome: str) -> GateDecidesError:
    """Return the refusal of an outcome that was reported for a gate, with the recorded findings."""
    judged = verdict(step, session)
    named = judged.blocking[:MOST_NAMED]
    lines = [f"{each.id} {each.severity} {safe_text.shortened(each.text)}" for each in named]
    hint: str | Hint = "report `done`"
    if left := len(judged.blocking) - len(named):
        lines.append(f"and {left} more")
        hint = Hint("report `done`; see all findings: ", Command("finding list", session.id))
    against = f"; these findings block it: {'; '.join(lines)}" if lines else ""
    return GateDecidesError(
        f"gate `{step.id}` decides from the recorded findings and does not accept `{outcome}`{against}",
        hint=hint,
        step=step.id,
        outcome=outcome,
        blocking=[each.id for each in judged.blocking],
    )


def _review_at_hand(workflow: Workflow, session: Session) -> str | None:
    """Return the review that new findings belong to: the one entered last."""
    known = {gate.review for gate in gates(workflow).values()}
    last = [name for name in session.entered if name in known]
    return max(last, key=lambda name: session.entered[name]) if last else None
