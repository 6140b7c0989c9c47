"""Evidence of a session's current step: baselines, results for a report, and refusals on record.

This module is used only for steps that demand evidence. It runs no command of a project.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from flowrail.command import Command, Hint
from flowrail.discovery.locations import find_project_root
from flowrail.evidence import baseline
from flowrail.evidence.evaluate import Context, evaluate
from flowrail.machines.definition.evidence import EvidenceCheck, EvidenceResult, StepEvidence, Verdict
from flowrail.machines.definition.parts import Frozen
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine import questions
from flowrail.machines.engine.advance import follow
from flowrail.machines.engine.outcome import Call, names_in, session_context
from flowrail.machines.engine.reports import EvidenceMissingError
from flowrail.machines.guidance.evidence import EvidenceView
from flowrail.machines.sessions.record import RecordNote
from flowrail.machines.sessions.session import Dispatched, Report, Secrets, Session
from flowrail.machines.sessions.store import SessionChange
from flowrail.operations.environment import OpenedWorkflow, World
from flowrail.operations.running import session_files
from flowrail.operations.running.conversations import ownership_note
from flowrail.text import placeholders


def entered(
    world: World,
    workflow: Workflow,
    session: Session,
    *,
    how: Literal["again", "new", "complete"] = "again",
) -> Session:
    """Return *session* with the baseline of its current step, if that demands evidence.

    If the step is entered `again`, its first baseline is kept. After a rewind it has a `new` one only. A migration
    `complete`s the baselines with the files that the checks of the changed workflow need.
    """
    step = workflow.get(session.step)
    if step is None or not step.evidence or not session.is_open:
        return session
    known = None if how == "new" else session.evidence.get(step.id)
    values = _values(workflow, session)
    folder = project_of(world, session)
    taken = baseline.take(step.checks.values(), folder, values, world.environ, at=world.now())
    if known is None:
        evidence = StepEvidence(taken, taken)
    elif how == "complete":
        evidence = known.completed(taken)
    else:
        evidence = known.entered_again(taken)
    return session.with_evidence(evidence)


def advanced(
    world: World,
    change: SessionChange,
    opened: OpenedWorkflow,
    session: Session,
    report: Report,
    *,
    now: str,
    call: Call,
) -> tuple[Session, Session]:
    """Evaluate the evidence of the current step, and return *session*, ready for the report, and the session after it.

    A claim that lacks evidence is recorded and refused. The same report is evaluated again each time.
    """
    workflow = opened.workflow
    step = workflow.step(str(session.step))
    if step.id not in session.evidence:  # the workflow got its evidence during the session
        session = entered(world, workflow, session)
    results = results_of(world, workflow, session, report.facts)
    try:
        after = follow(workflow, step, session, report, now=now, call=call, evidence=results)
        return session, after if after.revision == session.revision else _without_results(after, step)
    except EvidenceMissingError as refusal:
        after = _refused(workflow, session, refusal)
        note: RecordNote = {
            "claim": refusal.outcome,
            "missing": [result.check for result in refusal.results if result.is_missing],
            **ownership_note(change.kept.session, after),
        }
        definition = opened.definition if opened.changed else None
        change.commit(after, kind="refused", at=now, by=world.by, note=note, definition=definition)
        raise


def _without_results(session: Session, step: StepDef) -> Session:
    """Return *session*, which has left *step*, without the data used only there. Its last move has the results."""
    cleared = session.evidence[step.id]._replace(refusals=0, claim="", results=())
    return replace(session, evidence=Frozen({**session.evidence, step.id: cleared}))


def results_of(
    world: World, workflow: Workflow, session: Session, facts: Mapping[str, object] = Frozen()
) -> tuple[EvidenceResult, ...]:
    """Return the results of the checks of the current step with reported *facts*, without secrets."""
    checks = workflow.step(str(session.step)).checks.values()
    results = evaluate(checks, context_of(world, workflow, session, facts))
    return Secrets(replace(session, state={**session.state, **facts})).hide(results)


def with_verdicts(
    world: World, workflow: Workflow, session: Session, views: Sequence[EvidenceView]
) -> tuple[EvidenceView, ...]:
    """Return the checks of the current step with their results now; nothing is recorded."""
    if session.step not in session.evidence:
        session = entered(world, workflow, session)
    results = {result.check: result for result in results_of(world, workflow, session)}
    return tuple(
        view._replace(verdict=result.verdict)
        if (result := results[view.id]).is_satisfied or result.verdict != Verdict.PASS
        else view
        for view in views
    )


def context_of(
    world: World, workflow: Workflow, session: Session, facts: Mapping[str, object] = Frozen()
) -> Context:
    """Return the context in which the checks of the current step are evaluated."""
    evidence = session.evidence[str(session.step)]
    return _context(world, session, evidence, _values(workflow, session, facts))


def _context(world: World, session: Session, evidence: StepEvidence, values: Mapping[str, object]) -> Context:
    recorded = any(finding.revision == session.revision for finding in session.findings)
    return Context(
        evidence=evidence,
        values=values,
        environ=world.environ,
        session=session.id,
        revision=session.revision,
        is_reviewed=recorded or evidence.nothing_found,
        open_findings=tuple(finding.id for finding in session.findings if finding.is_open),
        store=world.shown_store,
    )


def _refused(workflow: Workflow, session: Session, refusal: EvidenceMissingError) -> Session:
    """Return *session* with a refused claim on record.

    After as many refusals as the step's `tries`, the session waits for a person, and the hint says so.
    """
    step = workflow.step(str(session.step))
    known = session.evidence[step.id]
    evidence = known._replace(refusals=known.refusals + 1, claim=refusal.outcome, results=refusal.results)
    session = session.with_evidence(evidence)
    if evidence.refusals < step.tries:
        return session
    missing = [result.check for result in refusal.results if result.is_missing]
    name = placeholders.fill(step.name, _values(workflow, session))
    question = questions.evidence_question(name, missing, refusals=evidence.refusals)
    others = [asked for asked in session.questions if asked.id != question.id]
    resume = Command("resume", session.id)
    refusal.hint = Hint("a person must decide now; show the question: ", resume)
    return questions.with_questions(session, [*others, question])


def claimed(world: World, workflow: Workflow, session: Session, dispatch: Dispatched) -> Dispatched:
    """Return a dispatch that was just claimed, with the baseline of its evidence in the folder of the sub-agent."""
    checks = _checks_of_work(workflow, session)
    project = os.path.realpath(session_files.project_of(world, session))
    folder = worktree_of(project, world.cwd) or project
    values = _dispatch_values(workflow, session, dispatch)
    taken = baseline.take(checks, folder, values, world.environ, at=world.now())
    return replace(dispatch, evidence=StepEvidence(taken, taken)) if checks else dispatch


def finished(world: World, workflow: Workflow, session: Session, dispatch: Dispatched) -> Dispatched:
    """Return *dispatch* with the results of its evidence; the caller refuses it if one is not satisfied."""
    if dispatch.evidence is None or not world.demands_evidence:
        return dispatch
    values = _dispatch_values(workflow, session, dispatch)
    context = _context(world, session, dispatch.evidence, values)
    results = Secrets(session).hide(evaluate(_checks_of_work(workflow, session), context))
    demanded = tuple(result._replace(is_demanded=True) for result in results)
    is_refused = not all(result.is_satisfied for result in demanded)
    refusals = dispatch.evidence.refusals + is_refused
    return replace(dispatch, evidence=dispatch.evidence._replace(results=demanded, refusals=refusals))


def _checks_of_work(workflow: Workflow, session: Session) -> Sequence[EvidenceCheck]:
    work = workflow.step(str(session.step)).work
    return work.evidence if work is not None else ()


def project_of(world: World, session: Session) -> str:
    """Return the folder in which the work of *session* is done.

    It is the project of the store, or the project in which the session started if the store is in none. So a report from
    elsewhere changes nothing. A sub-agent may work in a git worktree of the project.
    """
    project = os.path.realpath(session_files.project_of(world, session))
    return project if session.parent is None else worktree_of(project, world.cwd) or project


def worktree_of(project: str, cwd: str) -> str | None:
    """Return the git worktree of *project* that contains *cwd*, if there is one."""
    root = find_project_root(cwd) if cwd else ""
    if not root or os.path.realpath(project) == root:
        return None
    try:
        with open(os.path.join(root, ".git"), encoding="utf-8") as file:
            word, _, git_folder = file.read(4096).strip().partition(": ")
    except (OSError, UnicodeDecodeError):
        return None
    worktrees = os.path.realpath(os.path.join(project, ".git", "worktrees"))
    is_inside = os.path.dirname(os.path.realpath(git_folder)) == worktrees
    return root if word == "gitdir" and is_inside else None


def _dispatch_values(workflow: Workflow, session: Session, dispatch: Dispatched) -> dict[str, object]:
    return {**_values(workflow, session), **dispatch.vars, "item": dispatch.item}


def _values(
    workflow: Workflow, session: Session, facts: Mapping[str, object] = Frozen()
) -> dict[str, object]:
    return names_in(session_context(workflow, session, workflow.step(str(session.step)), facts))
