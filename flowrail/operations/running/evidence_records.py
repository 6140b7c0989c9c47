"""Show the evidence of a session's current step, run its commands, and record approvals and waivers.

No lock is held while a command runs, so its result counts only if the session has not moved.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, TrustError, UsageError
from flowrail.evidence import commands
from flowrail.evidence.baseline import machine_name
from flowrail.evidence.evaluate import evaluate, state_of_run
from flowrail.evidence.project_files import UnreadableError
from flowrail.machines.definition.evidence import (
    CommandRun,
    Confirmation,
    EvidenceCheck,
    EvidenceResult,
    Level,
    StepEvidence,
    Verdict,
)
from flowrail.machines.definition.step import StepDef
from flowrail.machines.engine import questions
from flowrail.machines.engine.advance import current_step
from flowrail.machines.guidance.evidence import StepEvidenceView
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import BY_EVIDENCE, Secrets, Session
from flowrail.operations.environment import OpenedWorkflow, World
from flowrail.operations.running.child_sessions import check_still_dispatched
from flowrail.operations.running.evidence import context_of, entered, results_of
from flowrail.operations.running.session_files import open_session
from flowrail.operations.running.steps import check_expected
from flowrail.storage.files import sha256_hex
from flowrail.text.phrases import did_you_mean, listed

LONGEST_REASON = 2_000


class UnknownCheckError(UsageError):
    """The current step has no such check."""

    code = "UNKNOWN_CHECK"


class ObservedCommand(NamedTuple):
    """A shell line that ended, as a host reported it: folder, success, output, and duration if known."""

    line: str
    folder: str
    succeeded: bool
    output: str
    event: str
    seconds: float | None = None


class _AtStep(NamedTuple):
    opened: OpenedWorkflow
    step: StepDef
    session: Session

    @property
    def evidence(self) -> StepEvidence:
        return self.session.evidence[self.step.id]


def show(world: World, session_id: str) -> StepEvidenceView:
    """Return the evidence of the current step as it is now; nothing is recorded."""
    at = _at_step(world, world.store.read(session_id).session)
    return StepEvidenceView(
        session=session_id,
        step=at.step.id,
        outcomes={outcome: [check.id for check in checks] for outcome, checks in at.step.evidence.items()},
        results=results_of(world, at.opened.workflow, at.session) if at.step.evidence else (),
        refusals=at.evidence.refusals if at.step.evidence else 0,
        tries=at.step.tries,
    )


def run(world: World, session_id: str, check_id: str) -> CommandRun:
    """Run the command of a check, which a person must have approved, and record the result."""
    at = _at_step(world, world.store.read(session_id).session)
    check = _check(at, check_id)
    if not check.run:
        show_command = Command("evidence show", session_id, store=world.shown_store)
        raise UsageError(
            f"check `{check.id}` runs no command",
            hint=Hint("it is made when the outcome is reported; see its result: ", show_command),
        )
    folder = at.evidence.entry.folder
    _require_approval(world, at, check, folder)
    values = context_of(world, at.opened.workflow, at.session).values
    try:
        state = state_of_run(check, folder, values, at.session.revision)
    except UnreadableError as error:
        raise UsageError(f"check `{check.id}`: {error}", hint="make it readable") from None
    result = commands.run(check, folder, world.environ)
    return _record_run(world, at, result._replace(state=state))


def observe(world: World, session_id: str, observed: ObservedCommand) -> list[CommandRun]:
    """Record a command that the agent ran itself for each check that declares exactly it."""
    at = _at_step(world, world.store.read(session_id).session)
    if not at.step.evidence or os.path.realpath(observed.folder) != at.evidence.entry.folder:
        return []
    return [
        _record_observed(world, at, check, observed)
        for check in at.step.checks.values()
        if check.run and commands.is_same_command(observed.line, check.run)
    ]


def _record_observed(
    world: World, at: _AtStep, check: EvidenceCheck, observed: ObservedCommand
) -> CommandRun:
    verdict, problem = Verdict.FAIL, "the host reported that it failed"
    if observed.succeeded:
        verdict, problem = commands.judge(check, 0, observed.output)
    folder, values = at.evidence.entry.folder, context_of(world, at.opened.workflow, at.session).values
    result = CommandRun(
        check=check.id,
        level=Level.OBSERVED,
        verdict=verdict,
        command=tuple(check.run),
        folder=folder,
        machine=machine_name(),
        state=state_of_run(check, folder, values, at.session.revision),
        exit_status=0 if observed.succeeded else None,
        event=observed.event,
        seconds=observed.seconds,
        output_digest=sha256_hex(observed.output.encode("utf-8", "replace")),
        output=observed.output,
        problem=problem,
    )
    return _record_run(world, at, result)


def _record_run(world: World, at: _AtStep, run: CommandRun) -> CommandRun:
    """Record a run of a command, unless the session has moved since it was read.

    If the command did not pass, the end of its output is recorded without secrets.
    """
    output = "" if run.verdict == Verdict.PASS else commands.end_of(Secrets(at.session).hide(run.output))
    result = run._replace(output=output, at=world.now(), by=world.by)
    with world.store.change(at.session.id, wait=world.wait) as change:
        session = change.kept.session
        if (session.revision, session.step) != (at.session.revision, at.step.id) or not session.is_open:
            raise ConflictError(
                f"session `{session.id}` moved while the command ran, so the result does not count",
                hint=Hint("see its state: ", Command("resume", session.id, store=world.shown_store)),
            )
        known = session.evidence.get(at.step.id) or at.evidence
        note: RecordNote = {"check": result.check, "level": result.level, "verdict": result.verdict}
        after = session.with_evidence(known.with_run(result))
        change.commit(after, kind="evidence", at=result.at, by=world.by, note=note)
    return result


def judged(world: World, session_id: str, check_id: str) -> EvidenceResult:
    """Return the result of one check now, for a person who is about to approve or waive it."""
    at = _at_step(world, world.store.read(session_id).session)
    check = _check(at, check_id)
    context = context_of(world, at.opened.workflow, at.session)
    return Secrets(at.session).hide(evaluate([check], context))[0]


def approve(
    world: World, session_id: str, result: EvidenceResult, reason: str, *, expect: int | None = None
) -> StepEvidence:
    """Record that a person approved a check with this *result*. A failing check that is not a command is waived instead.

    *expect* is the revision that the person saw, if it matters.
    """
    if result.kind != "run" and result.verdict != Verdict.PASS:
        waive_command = Command(
            "evidence waive", session_id, result.check, reason="REASON", store=world.shown_store
        )
        raise ConflictError(
            f"check `{result.check}` does not pass ({result.found}), so it cannot be approved",
            hint=Hint("provide it, or waive it: ", waive_command),
            check=result.check,
            verdict=result.verdict,
        )
    confirmation = Confirmation(result.check, False, result.state, reason, world.now(), world.by)
    return _confirm(world, session_id, confirmation, expect=expect)


def waive(
    world: World, session_id: str, check_ids: Sequence[str], reason: str, *, expect: int | None = None
) -> StepEvidence:
    """Record that a person waives these checks in this attempt of the step."""
    confirmations = [Confirmation(check, True, "", reason, world.now(), world.by) for check in check_ids]
    return _confirm(world, session_id, *confirmations, expect=expect)


def _confirm(world: World, session_id: str, *confirmations: Confirmation, expect: int | None) -> StepEvidence:
    reason, kind = confirmations[0].reason, "waive" if confirmations[0].waived else "approve"
    if not reason.strip() or len(reason) > LONGEST_REASON:
        raise UsageError("a reason is needed", hint=f"give one of at most {LONGEST_REASON} characters")
    with world.store.change(session_id, wait=world.wait) as change:
        check_expected(world, change.kept.session, expect)
        at = _at_step(world, change.kept.session)
        evidence = at.evidence
        for confirmation in confirmations:
            _check(at, confirmation.check)
            evidence = evidence.with_confirmation(confirmation)
        session = at.session.with_evidence(evidence)
        others = [question for question in session.questions if question.source != BY_EVIDENCE]
        session = questions.with_questions(session, others)
        note: RecordNote = {
            "check": ", ".join(confirmation.check for confirmation in confirmations),
            "reason": reason,
        }
        change.commit(session, kind=kind, at=confirmations[0].at, by=world.by, note=note)
    return evidence


def _at_step(world: World, session: Session) -> _AtStep:
    opened = open_session(world, session)
    step = current_step(opened.workflow, session)
    check_still_dispatched(world.store, session)
    if step.id not in session.evidence:
        session = entered(world, opened.workflow, session)
    return _AtStep(opened, step, session)


def _check(at: _AtStep, check_id: str) -> EvidenceCheck:
    check = at.step.checks.get(check_id)
    if check is None:
        known = at.step.checks
        remedy = f"use one of {listed(known)}" if known else "this step demands no evidence"
        raise UnknownCheckError(
            f"step `{at.step.id}` has no check `{check_id[:40]}`",
            hint=did_you_mean(check_id[:40], known, remedy),
            step=at.step.id,
            checks=list(known),
        )
    return check


def _require_approval(world: World, at: _AtStep, check: EvidenceCheck, folder: str) -> None:
    name = at.session.skill.partition("/")[0]
    if not at.opened.folder:
        approve_command = Command(
            "evidence approve", at.session.id, check.id, reason="REASON", store=world.shown_store
        )
        raise TrustError(
            f"workflow `{name}` is defined by a program, so its commands cannot be approved",
            hint=Hint("a person runs: ", approve_command),
            skill=name,
        )
    root = at.opened.named_root
    approval.require_command(at.opened.folder, folder, check.run, world.state, skill=name, root=root)
