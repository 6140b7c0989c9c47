"""What a command prints about a session: its guidance as XML for agents, as text for people, as JSON for programs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flowrail.command import Command
from flowrail.formatters.block import Show
from flowrail.formatters.guidance import step_output
from flowrail.machines.guidance.guide import Guidance, guide
from flowrail.machines.session import Session
from flowrail.machines.session_record import Record
from flowrail.operations.environment import Environment
from flowrail.operations.steps import session_choice, session_ownership, step_checks, working_files
from flowrail.operations.steps.briefing import with_past
from flowrail.operations.steps.dispatched_work import children_of, lost_dispatch
from flowrail.operations.steps.held_session import HeldSession
from flowrail.operations.steps.people import page_address
from flowrail.operations.steps.session_workflow import open_session
from flowrail.outcome import Outcome
from flowrail.skills.opened_workflow import OpenedWorkflow
from flowrail.text.report import Report


class ShownStep(Guidance):
    """The current step of a session, and what is printed beside it."""

    def xml(self, show: Show = str) -> str:
        """Return the step for an agent."""
        return step_output.xml(self, show)

    def report(self) -> Report:
        """Return the step for a person."""
        return step_output.report(self)

    def told(self, environment: Environment) -> ShownStep:
        """Print the notes beside the answer, and return the step."""
        for note in self.notes:
            environment.tell(note)
        return self


def show_step(
    environment: Environment,
    session: Session,
    opened: OpenedWorkflow,
    *notes: str,
    head: str = "",
    replayed: bool = False,
    resumed: bool = False,
    instead: str = "",
) -> ShownStep:
    """Return what is printed about *session*. If it is not stored yet, the *head* of its journal is unknown.

    A text *instead* of the instructions says why the caller does not work on its step.
    """
    last = session.last.dispatches if session.last and session.last.outcome == Outcome.FAIL else ()
    guidance = guide(
        opened.workflow,
        session,
        head=head,
        store=environment.shown_store,
        place=environment.store.address,
        folder=environment.store.folder(session.id),
        replayed=replayed,
        resumed=resumed,
        instead=instead,
        children=children_of(environment.store, session.dispatches + last),
    )
    if guidance.waits_for_person:
        guidance = replace(guidance, page=page_address(environment, session.id))
    if session.parent:
        is_elsewhere = session.owner not in {None, environment.conversation}
        relaunch = Command(
            "step", session=session.id, take_over=is_elsewhere or None, store=environment.store.address
        )
        guidance = replace(guidance, relaunch_command=relaunch)
    if resumed or not session.is_open:
        guidance = with_past(environment, session, guidance)
    if resumed and guidance.evidence and environment.demands_evidence:
        checks = step_checks.with_verdicts(environment, opened.workflow, session, guidance.evidence)
        guidance = replace(guidance, evidence=checks)
    return ShownStep(**{**vars(guidance), "notes": notes})


def commit_shown(held: HeldSession, after: Session, kind: str, *notes: str, **record: Any) -> ShownStep:
    """Add a record to a session, and return what is printed about it.

    The text is made first, so that nothing is recorded if a value in it is refused.
    """
    shown = show_step(held.environment, after, held.opened, *notes)
    return replace(shown, head=held.commit(after, kind, **record).head)


def show_record(environment: Environment, record: Record, *, is_new: bool = False) -> ShownStep:
    """Return the current step of a stored session. Nothing changes."""
    session = record.session
    notes = working_files.elsewhere(environment, session)
    if record.kind == "abandon" and record.note.get("reason"):
        notes = (*notes, f"abandoned because: {record.note['reason']}")
    opened = open_session(environment, session)
    instead, take_over = "", None
    if session_ownership.belongs_to_other(environment, record):
        instead = (
            f"This session belongs to another conversation ({session_choice.described(environment, record)}). "
            "Leave it alone unless the user asks you to continue it."
        )
        take_over = environment.command("resume", session.id, take_over=True)
    elif lost := lost_dispatch(environment.store, session):  # no report of its agent would count
        hint = str(lost.hint)
        instead = f"{lost.message[0].upper()}{lost.message[1:]}. {hint[0].upper()}{hint[1:]}."
    resumed = session.is_open and not is_new
    shown = show_step(
        environment, session, opened, *notes, head=record.head, resumed=resumed, instead=instead
    )
    return replace(shown, briefing="", take_over_command=take_over) if take_over else shown
