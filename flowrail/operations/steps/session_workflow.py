"""The workflow of a session: from the files of a skill for a new session, and afterwards from the session itself.

A session keeps its definition: a changed skill does not affect it. Only the code of a Python workflow cannot be kept. A
session whose code changed is stopped until it is migrated.
"""

from __future__ import annotations

import os

from flowrail.command import Command, Hint
from flowrail.errors import ChangedError, FlowError, UsageError
from flowrail.machines.session import Session
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.operations.environment import Environment
from flowrail.skills.opened_workflow import PROGRAM, OpenedWorkflow, definition_folder


def open_beside(environment: Environment, address: str, definition: StoredDefinition) -> OpenedWorkflow:
    """Return the workflow that an agent of a session with this *definition* must run, in any folder."""
    loader = environment.loader
    if address in environment.workflows:
        return loader.of_program(environment.workflows[address])
    return loader.open_beside(address, definition)


def open_session(environment: Environment, session: Session) -> OpenedWorkflow:
    """Return the workflow of a session as it was when the session started; `ChangedError` if its code is another now."""
    definition = environment.store.definition(session)
    if definition.functions:
        return _open_code(environment, session, definition)
    stored = environment.store.workflow(session, definition)
    return OpenedWorkflow(
        stored.changed(folder=definition_folder(definition) or None, provider=None), definition
    )


def _open_code(environment: Environment, session: Session, definition: StoredDefinition) -> OpenedWorkflow:
    """Return the workflow of a session that runs code; `ChangedError` if the code is another now."""
    if definition.source == PROGRAM:
        opened = _of_this_program(environment, session)
        if opened.definition != definition:
            raise _code_changed(environment, session)
        return opened
    origin, folder = environment.loader.origin(definition), definition_folder(definition)
    if origin is None:  # no other file of the folder may be run instead
        problem = f"has no workflow `{session.skill}`" if os.path.lexists(folder) else "is missing"
        raise ChangedError(
            f"the skill's folder {folder} {problem}, and session `{session.id}` runs code from it",
            hint=Hint("restore it, or end the session: ", environment.command("session abandon", session.id)),
            session=session.id,
        )
    if environment.loader.has_changed(definition):
        raise _code_changed(environment, session)
    return OpenedWorkflow(environment.loader.open_again(session.id, *origin).workflow, definition)


def open_newest(
    environment: Environment, session: Session, definition: StoredDefinition | None
) -> OpenedWorkflow:
    """Return the workflow of a session as its files or its program are now.

    It is in the folder from which the session was started. If that has gone, or if the *definition* is lost, it is
    searched by its name.
    """
    if session.skill in environment.workflows or (definition is not None and definition.source == PROGRAM):
        return _of_this_program(environment, session)
    if definition is not None and definition.folder:
        origin = environment.loader.origin(definition)
        if origin is not None:
            return environment.loader.open_again(session.id, *origin)
    try:
        return environment.loader.open_skill(session.skill)
    except UsageError as error:
        raise ChangedError(
            f"session `{session.id}` has no workflow to migrate to: {error.message}",
            hint="restore the skill's folder",
            session=session.id,
        ) from None


def _of_this_program(environment: Environment, session: Session) -> OpenedWorkflow:
    if session.skill not in environment.workflows:
        raise ChangedError(
            f"session `{session.id}` runs functions of the Python program that started it",
            hint="continue it in that program, or move the workflow into a skill's workflow.py",
            session=session.id,
        )
    return environment.loader.of_program(environment.workflows[session.skill])


def _code_changed(environment: Environment, session: Session) -> ChangedError:
    migrate = environment.command("session migrate", session.id)
    return ChangedError(
        f"the code of session `{session.id}` changed after the session started",
        hint=Hint("continue with the changed code: ", migrate),
        session=session.id,
    )


def start_command(environment: Environment, address: str) -> Command:
    """Return the command that starts a session of a skill, with placeholders for its required parameters.

    An unknown skill is refused.
    """
    environment.loader.skill(address)
    return environment.command(
        "step",
        address,
        new=True,
        params=_left_to_give(environment, address),
    )


def _left_to_give(environment: Environment, address: str) -> dict[str, str]:
    """Return the required parameters of a workflow, each with a placeholder as its value."""
    try:
        params = environment.loader.load(address).definition.params
    except FlowError:
        return {}
    return {name: "…" for name, arg in params.items() if arg.required}
