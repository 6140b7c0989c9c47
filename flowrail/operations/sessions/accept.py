"""Accept a foreign session with its handoffs, after all its records were checked. Only a person may decide that."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flowrail.command import Command
from flowrail.errors import FlowError, StorageError
from flowrail.machines.checks.validation import raw_findings
from flowrail.machines.session import Session
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.operations.environment import Environment
from flowrail.operations.handoffs.handoff_store import handoffs_of
from flowrail.operations.steps import step_checks, working_files
from flowrail.operations.steps.held_session import hold
from flowrail.text.report import Report
from flowrail.text.safe_text import one_line, shortened

LONGEST_REASON = 200
NO_INSTRUCTIONS = "FR115"
"""The code of this finding: a function makes the instructions, so the stored definition lacks them."""


@dataclass(frozen=True)
class AcceptedSession:
    """A foreign session that is this user's own now."""

    session: str
    """Its id."""
    skill: str
    """The workflow that it runs."""
    changed: bool
    """Whether it was foreign before."""
    command: Command | None
    """How to continue it, if it is open."""

    def report(self) -> Report:
        """Return what a person reads."""
        if not self.changed:
            yield one_line(f"{self.session} is not foreign")
            return
        yield one_line(f"{self.session} is yours now")
        if self.command is not None:
            yield one_line(f"continue it: {self.command}")


def accept(environment: Environment, session_id: str) -> AcceptedSession:
    """Make a foreign session this user's own. All its records are checked first, and none is changed."""
    store = environment.store
    was_foreign = store.is_foreign(session_id)
    records = list(store.records(session_id, foreign=True))
    newest = records[-1].session
    if was_foreign:
        kept = records[newest.definition].definition if newest.definition < len(records) else None
        problem = "it has no workflow" if kept is None else _problem_in(environment, kept, newest)
        if problem:
            raise StorageError(
                f"session `{session_id}` is damaged: {problem}",
                hint="restore it from a copy",
                session=session_id,
            )
        store.accept(session_id, at=environment.now, by=environment.by)
        handoffs_of(environment).accept_of(session_id)
        working_files.forget_offered(environment, session_id)
        _take_baseline(environment, newest)
    resume = environment.command("resume", session_id) if newest.is_open else None
    return AcceptedSession(session_id, newest.skill, was_foreign, resume)


def _take_baseline(environment: Environment, session: Session) -> None:
    """Record the current state of the files that the step's evidence compares with."""
    if not session.is_open or not session.evidence:
        return
    with hold(environment, session.id, any_owner=True) as held:
        try:
            after = step_checks.entered(environment, held.workflow, replace(held.session, evidence=None))
        except FlowError:
            return  # the next command says what is wrong with the workflow
        if after != held.session:
            held.commit(after, "accept")


def _problem_in(environment: Environment, definition: StoredDefinition, session: Session) -> str | None:
    """Return why no session could have started with this definition, if so."""
    try:
        workflow = environment.store.workflow(session, definition)
        errors = [finding for finding in raw_findings(workflow) if finding.is_error]
    except FlowError as error:
        return f"it has no workflow ({shortened(error.message, LONGEST_REASON)})"
    errors = [finding for finding in errors if finding.code != NO_INSTRUCTIONS]
    if errors:
        return f"its workflow has an error: {shortened(errors[0].message, LONGEST_REASON)}"
    if workflow.name != session.skill:
        return f"it is not the workflow of `{session.skill}`"
    return None
