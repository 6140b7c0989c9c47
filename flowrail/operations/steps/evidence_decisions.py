"""Decisions of people about the evidence of a session's current step: to confirm a check, or to continue without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from flowrail.command import Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines import asked_questions
from flowrail.machines.evidence_results import Confirmation, EvidenceResult, StepEvidence
from flowrail.machines.session import BY_EVIDENCE
from flowrail.machines.step import StepDef
from flowrail.machines.transition import current_step
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSession, Reason
from flowrail.operations.steps.dispatched_work import check_still_dispatched
from flowrail.operations.steps.guarded_calls import LiftedGuard, lift_guard
from flowrail.operations.steps.held_session import hold
from flowrail.operations.steps.people import require_person
from flowrail.operations.steps.session_choice import own_session
from flowrail.operations.steps.session_workflow import open_session
from flowrail.operations.steps.step_checks import entered, results_of
from flowrail.text.phrases import listed
from flowrail.text.report import Report as Shown
from flowrail.text.safe_text import one_line
from flowrail.text.unknown_names import unknown

LONGEST_REASON = 2_000


@dataclass(frozen=True)
class DecidedEvidence:
    """What a person decided about checks of a step."""

    session: str
    step: str
    checks: tuple[str, ...]
    waived: bool
    """Whether the session continues without them. Otherwise the person confirmed them."""

    def report(self) -> Shown:
        """Return what a person reads."""
        yield one_line(f"{', '.join(self.checks)}: {'waived in this attempt' if self.waived else 'approved'}")


@operation(
    "approve",
    "flow approve",
    "flow approve sign_off --session release-k3x9q2",
    "flow approve --guard 'Bash(git push*)'",
)
def approve_command(
    environment: Environment,
    check: Annotated[str | None, Help("The check, by default the only one that waits for a person.")] = None,
    *,
    session: OptionalSession = None,
    reason: Reason = "",
    guard: Annotated[
        str | None, Help("Allow the next call that this guard denies, instead.", metavar="PATTERN")
    ] = None,
) -> DecidedEvidence | LiftedGuard:
    """Confirm a check that only a person can confirm

    For a person at a terminal. The approval counts for this attempt of the step. With --guard, allow one call, within
    an hour, that a guard of a skill denies.
    """
    if guard is not None:
        return lift_guard(environment, guard)
    return _decide(environment, "approve", session, (check,) if check else (), reason)


@operation("waive", "flow waive tests --reason 'no network here'")
def waive_command(
    environment: Environment,
    checks: Annotated[tuple[str, ...], Help("The checks.", metavar="CHECK")],
    *,
    reason: Reason,
    session: OptionalSession = None,
) -> DecidedEvidence:
    """Continue without evidence, as a person at a terminal

    The checks are waived in this attempt of the step. The reason is recorded.
    """
    return _decide(environment, "waive", session, checks, reason)


def _decide(
    environment: Environment, verb: str, session: str | None, checks: tuple[str, ...], reason: str
) -> DecidedEvidence:
    session_id = session or own_session(environment).session.id
    typed = environment.command(verb, *checks, session=session_id, reason=reason or None)
    step, results = judged(environment, session_id)
    if not checks:
        checks = tuple(
            result.check for result in results if result.kind == "person" and not result.is_satisfied
        )
        if len(checks) != 1:
            raise UsageError(
                f"{listed(checks)} wait for a person"
                if checks
                else f"no check of step `{step.id}` waits for a person",
                hint="name the check" if checks else "continue with the step",
            )
    _require_decidable(
        environment, step, session_id, checks, reason, waived=verb == "waive"
    )  # before a person is asked
    lines = [f"session {session_id}"]
    for result in results:
        if result.check in checks:
            lines += [
                f"check {result.check}",
                f"  expected {result.expected}",
                f"  found {result.found} ({result.verdict})",
            ]
    question = f"{verb.capitalize()} {listed(checks)}?"
    asking = session_id if verb == "approve" else ""  # nobody is asked to waive
    way = require_person(environment, f"{verb} evidence", question, lines, typed, asking)
    confirm(environment, session_id, checks, reason, waived=verb == "waive", way=way)
    return DecidedEvidence(session_id, step.id, checks, verb == "waive")


def judged(environment: Environment, session_id: str) -> tuple[StepDef, tuple[EvidenceResult, ...]]:
    """Return the current step, and the results of its checks as they are now; nothing is recorded."""
    session = environment.store.read(session_id).session
    opened = open_session(environment, session)
    step = current_step(opened.workflow, session)
    check_still_dispatched(environment.store, session)
    return step, results_of(environment, opened.workflow, session) if step.evidence else ()


def confirm(
    environment: Environment,
    session_id: str,
    checks: Sequence[str],
    reason: str = "",
    *,
    waived: bool = False,
    expect: int | None = None,
    way: str,
) -> None:
    """Record that a person confirmed these checks, or *waived* them in this attempt of the step.

    *expect* is the revision that the person saw, if it matters. *way* is the way in which the decision came.
    """
    with hold(environment, session_id, any_owner=True, expect=expect) as held:
        session, step = held.session, held.step
        _require_decidable(environment, step, session_id, checks, reason, waived=waived)
        session = session if session.evidence is not None else entered(environment, held.workflow, session)
        evidence = session.evidence or StepEvidence()
        for name in checks:
            evidence = evidence.with_confirmation(
                Confirmation(name, waived, reason, environment.now, environment.by, way)
            )
        others = [question for question in session.questions if question.source != BY_EVIDENCE]
        after = asked_questions.with_questions(session.with_evidence(evidence), others)
        held.commit(after, "waive" if waived else "approve", check=", ".join(checks), reason=reason, way=way)


def _require_decidable(
    environment: Environment,
    step: StepDef,
    session_id: str,
    checks: Sequence[str],
    reason: str,
    *,
    waived: bool,
) -> None:
    """Refuse a decision about a check that the step does not have or that nobody can confirm, or one without a reason."""
    if len(reason) > LONGEST_REASON or (waived and not reason.strip()):
        raise UsageError("a reason is needed", hint=f"give one of at most {LONGEST_REASON} characters")
    for name in checks:
        check = step.checks.get(name)
        if check is None:
            raise unknown(f"check of step `{step.id}`", name, step.checks, code="UNKNOWN_CHECK")
        if check.kind != "person" and not waived:
            raise ConflictError(
                f"check `{name}` is not a `person` check, so it cannot be approved",
                hint=Hint(
                    "provide it, or waive it: ",
                    environment.command("waive", name, session=session_id, reason="REASON"),
                ),
                check=name,
            )
