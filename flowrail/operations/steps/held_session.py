"""A session under its lock, as one of the caller's: every command that adds a record to a session begins here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from flowrail.machines.session import Session
from flowrail.machines.session_record import Record
from flowrail.machines.session_store import SessionChange
from flowrail.machines.step import StepDef
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.machines.transition import current_step
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.steps.dispatched_work import check_still_dispatched
from flowrail.operations.steps.revision_conflict import check_expected
from flowrail.operations.steps.session_ownership import owned, ownership_note
from flowrail.operations.steps.session_workflow import open_session
from flowrail.skills.opened_workflow import OpenedWorkflow


@dataclass
class HeldSession:
    """A session that nobody else can change now, and the one way to add a record to it."""

    environment: Environment
    change: SessionChange
    session: Session
    """The session as one of the caller's conversation."""

    @property
    def kept(self) -> Record:
        """Its newest record."""
        return self.change.kept

    @cached_property
    def opened(self) -> OpenedWorkflow:
        """Its workflow."""
        return open_session(self.environment, self.session)

    @property
    def workflow(self) -> Workflow:
        """Its workflow."""
        return self.opened.workflow

    @cached_property
    def step(self) -> StepDef:
        """Its current step; refused if it has ended, or if its parent no longer needs it."""
        step = current_step(self.workflow, self.session)
        check_still_dispatched(self.environment.store, self.session)
        return step

    def commit(
        self,
        after: Session,
        kind: str,
        *,
        at: str = "",
        definition: StoredDefinition | None = None,
        last: bool = False,
        **note: object,
    ) -> Record:
        """Add one record, with what *note* says and the conversation from which the session was taken over.

        Empty values are left out of the note. *at* is the time, by default now.
        """
        environment = self.environment
        told = {name.rstrip("_"): value for name, value in note.items() if value not in (None, "")}
        self.session = after
        return self.change.commit(
            after,
            kind=kind,
            at=at or environment.now,
            by=environment.by,
            note={**told, **ownership_note(self.kept.session, after)},
            definition=definition,
            last=last,
        )


@contextmanager
def hold(
    environment: Environment,
    session_id: str,
    *,
    take_over: bool = False,
    any_owner: bool = False,
    expect: int | None = None,
) -> Iterator[HeldSession]:
    """Lock a session and yield it, or refuse if it belongs to another conversation, or is not at the revision *expect*.

    With *take_over* it becomes the caller's. With *any_owner* it may belong to any conversation and stays as it is, because a
    person decides about it, or a reviewer records a finding.
    """
    with environment.store.change(session_id, wait=environment.wait) as change:
        session = change.kept.session if any_owner else owned(environment, change.kept, take_over=take_over)
        check_expected(environment, change.kept.session, expect)
        yield HeldSession(environment, change, session)
