"""A fleet: its queue and its records, beside the store whose sessions it runs."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from flowrail.command import Hint
from flowrail.errors import ConflictError, DocumentError, FlowError, TrustError
from flowrail.fleet import targets
from flowrail.fleet.agent_run import is_run
from flowrail.fleet.job_records import FleetRecords
from flowrail.fleet.jobs import JobQueue
from flowrail.hosts.conversation import FLEET_OWNER
from flowrail.machines.agents import parent_of
from flowrail.machines.session_store import UnknownSessionError
from flowrail.operations.environment import Environment
from flowrail.operations.sessions.abandon import abandon_session
from flowrail.operations.steps.new_session import begin
from flowrail.operations.steps.session_ownership import release
from flowrail.storage.files import make_private_dir, read_bounded, write_atomic
from flowrail.storage.user_mark import Owner

FOLDER = "fleet"
_WAIT_SECONDS = 60.0


class Fleet:
    """The fleet of the store that *environment* means.

    With a store in PostgreSQL its tables are in the same database, so workers on many machines share it. Otherwise they
    are in SQLite files below the folder of the store.
    """

    def __init__(self, environment: Environment) -> None:
        self.environment = environment.replaced(conversation=None, wait=_WAIT_SECONDS)
        self.folder = folder_of(environment)
        _prepare_folder(environment, self.folder)
        shared = environment.backend.fleet_database
        self.records = FleetRecords(shared or f"sqlite:///{self.folder}/workers.sqlite")
        self.jobs = JobQueue(shared or f"sqlite:///{self.folder}/queue.sqlite")

    def close(self) -> None:
        """Close all connections."""
        self.jobs.close()
        self.records.database.close()

    def environment_of(self, conversation: str) -> Environment:
        """Return the environment for a run whose conversation has that id."""
        return self.environment.replaced(conversation=conversation, store=self.environment.store)

    def start(self, skill: str, params: Mapping[str, object], program: str) -> str:
        """Start a session of a skill that the workers of *program* run, and return its id."""
        session = begin(self.environment_of(FLEET_OWNER), skill, params).session
        self.run_session(session, program)
        return session

    def run_session(self, session: str, program: str) -> None:
        """Let the workers of *program* run an open session. One that they gave up gets all its attempts again."""
        environment = self.environment
        if not environment.store.read(session).session.is_open:
            raise ConflictError(
                f"session `{session}` has ended",
                code="SESSION_NOT_OPEN",
                hint=Hint("see its history: ", environment.command("sessions", session)),
                session=session,
            )
        self.records.add_session(session, program)

    def schedule(self, program: str) -> None:
        """Add the jobs that the sessions of *program* need now."""
        # unfinished jobs first: a job changes its session before it ends
        busy = {job.target for job in self.jobs.unfinished()}
        ready: list[str] = []
        for known in self.records.sessions():
            if known.program == program:
                with suppress(FlowError):  # it cannot be read now; the status says so
                    ready += self._ready(known.session)
        for target in ready:
            if target not in busy:
                self.jobs.enqueue(target, program)

    def _ready(self, session_id: str) -> list[str]:
        """Return the targets of a session that agents of the fleet can work on now."""
        try:
            session = targets.current(self.environment, session_id)
        except UnknownSessionError:
            self.records.end_session(session_id, "the session was deleted")
            return []
        if not session.is_open:
            self.records.end_session(session_id)
            return []
        if session.owner not in {None, FLEET_OWNER} and not is_run(session.owner):
            return []  # a person or another agent took it over
        return [*targets.ready(self.environment, session_id)]

    def give_up(self, target: str, reason: str) -> None:
        """Run no more agents for a target. A child session fails; another session stays open, without an owner."""
        environment = self.environment
        if parent_of(target) is not None:
            with suppress(ConflictError):  # it has just ended differently
                abandon_session(environment, targets.session_of(environment, target), reason)
            return
        self.records.end_session(target, reason)
        owner = targets.current(environment, target).owner
        if is_run(owner):
            release(environment.store, [target], str(owner), at=environment.now, by=environment.by)


def folder_of(environment: Environment) -> str:
    """Return the folder for the files of the fleet of this store: logs and, without a server, its tables."""
    return os.path.join(environment.store_path, FOLDER)


def has_fleet(environment: Environment) -> bool:
    """Return whether there can be a fleet. Without a server, its folder exists once it was used."""
    return bool(environment.backend.fleet_database) or os.path.isdir(folder_of(environment))


def _prepare_folder(environment: Environment, folder: str) -> None:
    """Make the folder of a fleet; refuse one that came with a clone, because its queue decides what is run."""
    make_private_dir(environment.store_path)
    make_private_dir(folder)
    owner = Owner(environment.state)
    marked = os.path.join(folder, "owner")
    with suppress(DocumentError):
        mark = read_bounded(marked, limit=100, what="the mark").decode("ascii", "replace")
        if owner.owns(folder, FOLDER.encode(), mark):
            return
    if any(name.endswith(".sqlite") for name in os.listdir(folder)):
        raise TrustError(
            f"the fleet in {folder} came with a clone, was moved, or belongs to another user",
            code="FOREIGN_FLEET",
            hint=f"delete {folder} to begin a new one; sessions are not in it",
            folder=folder,
        )
    write_atomic(os.path.join(folder, ".gitignore"), b"*\n")
    write_atomic(marked, owner.mark(folder, FOLDER.encode()).encode())
