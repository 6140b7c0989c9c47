"""What the functions and texts of a skill can read: conventions, files, resources, other workflows and their steps."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from flowrail.errors import UsageError
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.storage.files import read_bounded
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import decode

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.md)?\Z")


class UnknownResourceError(UsageError):
    """No resource, convention, workflow or step has that name."""

    code = "UNKNOWN_RESOURCE"


@runtime_checkable
class ResourceProvider(Protocol):
    """What a function can read besides its workflow, in five methods."""

    def get_convention(self, name: str) -> str:
        """Return the text of a convention for all skills."""
        ...

    def read_file(self, path: str) -> str:
        """Return the text of a file below the project."""
        ...

    def get_resource(self, name: str) -> str:
        """Return the text of a resource of the skill."""
        ...

    def get_workflow(self, address: str) -> Workflow:
        """Return another workflow by its address."""
        ...

    def get_step(self, address: str, step_id: str) -> StepDef:
        """Return a step of another workflow."""
        ...


class FolderResources:
    """Resources from folders, of which the nearer one wins. Nothing outside them is read, and links are not followed."""

    def __init__(
        self,
        *,
        project: str,
        resources: Sequence[str] = (),
        conventions: Sequence[str] = (),
        workflow: Callable[[str], Workflow] | None = None,
    ) -> None:
        self.project = project
        self.resources = tuple(resources)
        self.conventions = tuple(conventions)
        self._workflow = workflow

    def get_convention(self, name: str) -> str:
        """Return the text of a convention, from the nearest folder that has it."""
        return _named(name, self.conventions, "convention")

    def get_resource(self, name: str) -> str:
        """Return the text of a resource, from the nearest folder that has it."""
        return _named(name, self.resources, "resource")

    def read_file(self, path: str) -> str:
        """Return the text of a file below the project, with links resolved."""
        root = os.path.realpath(self.project)
        full = os.path.realpath(os.path.join(root, path)) if "\0" not in path else ""
        if not full.startswith(root + os.sep):
            raise UsageError(f"`{path}` lies outside the project", hint="name a file below it", path=path)
        return decode(read_bounded(full, limit=limits.YAML_BYTES, what=f"`{path}`"), source=path)

    def get_workflow(self, address: str) -> Workflow:
        """Return another workflow by its address."""
        if self._workflow is None:
            raise UnknownResourceError(
                f"workflow `{address}` cannot be read here",
                hint="pass `workflow=`, a function that returns it",
            )
        return self._workflow(address)

    def get_step(self, address: str, step_id: str) -> StepDef:
        """Return a step of another workflow."""
        workflow = self.get_workflow(address)
        step = workflow.get(step_id)
        if step is None:
            ids = [other.id for other in workflow.steps]
            raise UnknownResourceError(
                f"`{address}` has no step `{step_id}`",
                hint=did_you_mean(step_id, ids, "name one of its steps"),
                steps=ids,
            )
        return step


def _named(name: str, folders: Sequence[str], kind: str) -> str:
    if _NAME.match(name):
        file = name if name.endswith(".md") else f"{name}.md"
        for folder in folders:
            path = os.path.join(folder, file)
            if os.path.isfile(path):
                return decode(read_bounded(path, limit=limits.YAML_BYTES, what=f"the {kind}"), source=file)
    known = sorted({entry.removesuffix(".md") for folder in folders for entry in _entries(folder)})
    raise UnknownResourceError(
        f"unknown {kind} `{name[:80]}`",
        hint=did_you_mean(name[:80], known, f"known: {', '.join(known) or 'none'}"),
        known=known,
    )


def _entries(folder: str) -> list[str]:
    try:
        return [entry for entry in os.listdir(folder) if entry.endswith(".md")]
    except OSError:
        return []
