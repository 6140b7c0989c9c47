"""Evidence of a session's current step: results for a report, and refusals on record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from flowrail.command import Hint
from flowrail.evidence.context import Context
from flowrail.evidence.evaluate import evaluate
from flowrail.evidence.file_evidence import files_of
from flowrail.machines import asked_questions
from flowrail.machines.demanded_evidence import MOST_REFUSALS
from flowrail.machines.evidence_results import CommandRun, EvidenceResult, StepEvidence
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance.step_evidence import DemandedCheck
from flowrail.machines.outcome_decision import names_at
from flowrail.machines.reported_values import EvidenceMissingError
from flowrail.machines.session import Session
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.steps import command_runs, working_files
from flowrail.operations.steps.held_session import HeldSession
from flowrail.text import placeholders


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
        refusal.hint = Hint(
            "a person must decide now; show the question: ",
            held.environment.command("resume", session.id),
        )
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
        open_findings=tuple(finding.id for finding in session.open_findings),
        store=environment.shown_store,
    )
    return evaluate(step.checks.values(), context)


def with_verdicts(
    environment: Environment, workflow: Workflow, session: Session, views: Sequence[DemandedCheck]
) -> tuple[DemandedCheck, ...]:
    """Return the checks of the current step with their results now; nothing is recorded."""
    results = {result.check: result for result in results_of(environment, workflow, session)}
    return tuple(replace(view, **vars(results[view.check])) for view in views)
