"""Evidence of a session's current step: results for a report, refusals on record, and decisions of people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.evidence.context import Context
from flowrail.evidence.evaluate import evaluate
from flowrail.evidence.file_evidence import files_of
from flowrail.machines import asked_questions
from flowrail.machines.demanded_evidence import MOST_REFUSALS, Evidence
from flowrail.machines.evidence_results import CommandRun, Confirmation, EvidenceResult, StepEvidence
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.step_evidence import DemandedCheck
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.reported_values import EvidenceMissingError
from flowrail.machines.session import BY_EVIDENCE, Session
from flowrail.machines.step import StepDef
from flowrail.machines.transition import current_step
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import OptionalSession, Reason
from flowrail.operations.steps import command_runs, working_files
from flowrail.operations.steps.dispatched_work import check_still_dispatched
from flowrail.operations.steps.guarded_calls import LiftedGuard, lift_guard
from flowrail.operations.steps.held_session import HeldSession, hold
from flowrail.operations.steps.people import require_person
from flowrail.operations.steps.session_choice import own_session
from flowrail.operations.steps.session_workflow import open_session
from flowrail.text import placeholders
from flowrail.text.phrases import did_you_mean, listed
from flowrail.text.report import Report as Shown
from flowrail.text.safe_text import one_line

LONGEST_REASON = 2_000


# --- reports


def entered(environment: Environment, workflow: Workflow, session: Session) -> Session:
    """Return *session* with the evidence of its current step, if that demands any.

    A session that is at the step already, after a migration, keeps what it knows.
    """
    step = workflow.get(session.step)
    if step is None or not step.evidence or not session.is_open:
        return session
    folder = working_files.work_tree(environment, session)
    files = files_of(step.checks.values(), folder, names_at(workflow, session, step))
    known = session.evidence or StepEvidence(folder=folder)
    return session.with_evidence(replace(known, files={**files, **known.files}))


def record_refusal(held: HeldSession, session: Session, refusal: EvidenceMissingError) -> None:
    """Record a report that lacks evidence. After several, the session waits for the user."""
    known = session.evidence or StepEvidence()
    evidence = replace(known, refusals=known.refusals + 1, claim=refusal.outcome, results=refusal.results)
    missing = [result.check for result in refusal.results if result.is_missing]
    after = session.with_evidence(evidence)
    if evidence.refusals >= MOST_REFUSALS:
        name = placeholders.fill(held.step.name, names_at(held.workflow, session, held.step))
        question = asked_questions.evidence_question(name, missing, refusals=evidence.refusals)
        others = [asked for asked in session.questions if asked.id != question.id]
        refusal.hint = Hint("a person must decide now; show the question: ", Command("resume", session.id))
        after = asked_questions.with_questions(after, [*others, question])
    held.commit(after, "refused", claim=refusal.outcome, missing=missing)


def results_of(
    environment: Environment, workflow: Workflow, session: Session, facts: Mapping[str, object] = Frozen()
) -> tuple[EvidenceResult, ...]:
    """Return the results of the checks of the current step with reported *facts*; nothing is recorded."""
    step = workflow.step(str(session.step))
    if session.evidence is None:
        session = entered(environment, workflow, session)
    values = names_at(workflow, session, step, facts)
    evidence = session.evidence or StepEvidence()
    recorded = any(finding.revision == session.revision for finding in session.findings)

    def run_of(name: str) -> tuple[CommandRun | None, str]:
        run = command_runs.newest_run(session, step, name, values)
        if run is None or not run.passed:
            return run, ""
        return run, command_runs.first_change(environment, session, run)

    context = Context(
        evidence=evidence,
        values=values,
        session=session.id,
        run_of=run_of,
        is_reviewed=recorded or evidence.nothing_found,
        open_findings=tuple(finding.id for finding in session.findings if finding.is_open),
        store=environment.shown_store,
    )
    return evaluate(step.checks.values(), context)


def with_verdicts(
    environment: Environment, workflow: Workflow, session: Session, views: Sequence[DemandedCheck]
) -> tuple[DemandedCheck, ...]:
    """Return the checks of the current step with their results now; nothing is recorded."""
    results = {result.check: result for result in results_of(environment, workflow, session)}
    return tuple(replace(view, **vars(results[view.check])) for view in views)


# --- decisions of people


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
    _require_decidable(step, session_id, checks, reason, waived=verb == "waive")  # before a person is asked
    lines = [f"session {session_id}"]
    for result in results:
        if result.check in checks:
            lines += [
                f"check {result.check}",
                f"  expected {result.expected}",
                f"  found {result.found} ({result.verdict})",
            ]
    question = f"{verb.capitalize()} {listed(checks)}?"
    way = require_person(environment, f"{verb} evidence", question, lines, typed, session_id)
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
        _require_decidable(step, session_id, checks, reason, waived=waived)
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
    step: StepDef, session_id: str, checks: Sequence[str], reason: str, *, waived: bool
) -> None:
    """Refuse a decision about a check that the step does not have or that nobody can confirm, or one without a reason."""
    if len(reason) > LONGEST_REASON or (waived and not reason.strip()):
        raise UsageError("a reason is needed", hint=f"give one of at most {LONGEST_REASON} characters")
    for name in checks:
        if _check(step, name).kind != "person" and not waived:
            raise ConflictError(
                f"check `{name}` is not a `person` check, so it cannot be approved",
                hint=Hint(
                    "provide it, or waive it: ", Command("waive", name, session=session_id, reason="REASON")
                ),
                check=name,
            )


def _check(step: StepDef, name: str) -> Evidence:
    check = step.checks.get(name)
    if check is None:
        known = step.checks
        remedy = f"use one of {listed(known)}" if known else "this step demands no evidence"
        raise UsageError(
            f"step `{step.id}` has no check `{name[:40]}`",
            code="UNKNOWN_CHECK",
            hint=did_you_mean(name[:40], known, remedy),
            step=step.id,
            checks=list(known),
        )
    return check
