"""Which content of a skill may run, and running exactly that."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from flowrail import approval
from flowrail.command import Command, Hint
from flowrail.discovery.locations import Root
from flowrail.errors import ChangedError, DocumentError
from flowrail.machines.definition.findings import WorkflowError
from flowrail.machines.loading import run_python
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.workflow_source import LoadedWorkflow
from flowrail.operations.environment import Environment
from flowrail.skills.bundled_copies import BundledCopy, in_few_words, of_bundled
from flowrail.skills.catalog import OWN_SCOPES, Skill, is_tried, named_root


def run_allowed(
    found: Skill, file: WorkflowFile, roots: Sequence[Root], state: str, *, session: str = ""
) -> LoadedWorkflow:
    """Return the validated workflow in *file*, ready to run; refuse it if its code may not run.

    `ChangedError` if it has errors and the *session* with that id runs it already.
    """
    try:
        contents = allowed_contents(found, file, roots, state)
        loaded = run_python.run(file, contents, convention=Environment().convention)
        loaded.workflow()
    except (DocumentError, WorkflowError) as error:
        if not session:
            raise
        raise ChangedError(
            f"the workflow of session `{session}` cannot be read: {error.message}",
            hint="fix the file, then run the command again",
            session=session,
        ) from None
    return loaded


def allowed_contents(
    found: Skill, file: WorkflowFile, roots: Sequence[Root], state: str
) -> Mapping[str, bytes] | None:
    """Return the folder's content if running it needs approval, otherwise `None`."""
    tried = file.is_python and is_tried(found.folder, roots)  # it held none when it was looked at
    if found.source in OWN_SCOPES and not tried:
        return None
    root = os.path.dirname(found.folder) if tried else named_root(found)
    if file.is_python:
        why = "contains Python code"
        return approval.require(found.folder, state, skill=found.name, why=why, root=root).contents
    if not found.hides_own:
        return None
    copy = of_bundled(found)
    if copy is not None and copy.same:
        return copy.content.contents
    why, instead = _why_not(found, copy)
    now = None if copy is None else copy.content
    return approval.require(
        found.folder, state, skill=found.name, why=why, instead=instead, root=root, content=now
    ).contents


def _why_not(found: Skill, copy: BundledCopy | None) -> tuple[str, str | Hint]:
    """Return why a project's skill needs approval, and what to do instead of approving it."""
    if copy is None:
        return f"of this project overrides your own at {found.hides[-1][1]}", ""
    again = Command("install", found.name, to=os.path.realpath(os.path.dirname(found.folder)))
    what = "of this project overrides the bundled one and differs from it"
    changes = in_few_words(copy.changes)
    if copy.installed is not None:
        said = f"{what}, installed by flowrail {copy.installed} as its list says: {changes}"
        return said, Hint("bring it up to date: ", again)
    return f"{what}: {changes}", Hint("or undo the change: ", again.with_options(force=True))
