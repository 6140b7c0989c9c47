"""A workflow that may run, with its stored form and where it came from."""

from __future__ import annotations

import os
from typing import NamedTuple

from flowrail.discovery.locations import BUNDLED, Scope, bundled_folder
from flowrail.machines.stored_definition import StoredDefinition
from flowrail.machines.workflow import Workflow

PROGRAM = "library"
"""The source of a workflow that is defined by a Python program, not by a skill's folder."""


class OpenedWorkflow(NamedTuple):
    """A workflow that may run, and its stored form."""

    workflow: Workflow
    definition: StoredDefinition

    @property
    def source(self) -> str:
        """The location of the skill, or `PROGRAM`."""
        return self.definition.source

    @property
    def folder(self) -> str:
        """The skill's folder; empty if a Python program defined the workflow."""
        return "" if self.source == PROGRAM else definition_folder(self.definition)

    @property
    def named_root(self) -> str:
        """The location to name for a skill that is not found otherwise; empty if it is."""
        return os.path.dirname(definition_folder(self.definition)) if self.source == Scope.EXTRA.value else ""


def definition_folder(definition: StoredDefinition) -> str:
    """Return the skill's folder of a stored definition."""
    is_bundled = definition.source == BUNDLED
    return (
        os.path.join(bundled_folder(), os.path.basename(definition.folder))
        if is_bundled
        else definition.folder
    )
