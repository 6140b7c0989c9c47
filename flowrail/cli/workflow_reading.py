"""How commands for authors read workflows: as text, or with --run by running those in Python."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from flowrail.cli import output
from flowrail.cli.environment import SessionCall
from flowrail.errors import TrustError
from flowrail.machines.loading import skill_folder, workflow_source
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.workflow_source import ReadFile
from flowrail.operations.environment import Environment
from flowrail.operations.skills.load import run_file


def reader(roots: Sequence[str], *, run_code: bool, skips: bool = False) -> ReadFile:
    """Return how workflows are read: as text, or with *run_code* by running those in Python.

    With *skips*, a Python workflow that is not approved is read as text and named in a note.
    """
    read_text = partial(workflow_source.read, convention=Environment(roots=roots).convention)
    if not run_code:
        return read_text
    world = SessionCall(roots=roots).world

    def read(file: skill_folder.WorkflowFile) -> LoadedWorkflow:
        try:
            return run_file(file, world.roots, world.state)
        except TrustError as error:
            if not skips:
                raise
            output.notes([f"`{file.address}` was not run: {error.message}; {error.hint}"])
            return read_text(file)

    return read
