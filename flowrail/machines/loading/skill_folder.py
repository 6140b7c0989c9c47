"""A skill's folder: its workflow files, the digests of its files, and the resources that functions read from it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple

from flowrail.errors import DocumentError, UsageError
from flowrail.machines.loading.python_file import scan
from flowrail.machines.outcome_decision import SCRIPTS
from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import list_names, read_bounded, sha256_hex
from flowrail.text import size_limits
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import decode

ENTRY_FILES = ("workflow.yaml", "workflow.py")
INSIDE = r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\Z"


class WorkflowFile(NamedTuple):
    """One workflow of a folder; ``path`` is relative to the folder."""

    address: str
    folder: str
    path: str
    text_folder: str

    @property
    def is_python(self) -> bool:
        """Whether running it means running its author's code."""
        return self.path.endswith(".py")


def workflow_files(folder: str, name: str) -> Iterator[WorkflowFile]:
    """Yield the workflows of *folder* by address: the entry one, those in ``workflows``, those in scripts.

    Of several files with the same address, the first is read.
    """
    for path in ENTRY_FILES:
        if os.path.lexists(os.path.join(folder, path)):
            yield WorkflowFile(name, folder, path, "steps")
    for entry in list_names(os.path.join(folder, "workflows"), ".yaml"):
        inner = entry.removesuffix(".yaml")
        yield WorkflowFile(f"{name}/{inner}", folder, f"workflows/{entry}", f"steps/{inner}")
    yield from scripts(folder, name)


def scripts(folder: str, name: str) -> list[WorkflowFile]:
    """Return the workflows in ``scripts/*.py``; no file is run.

    The entry workflow is in the script that is named like the skill, or names its workflow so. Any other is named
    after its script.
    """
    files = []
    for entry in list_names(os.path.join(folder, SCRIPTS), ".py"):
        path, stem = f"{SCRIPTS}/{entry}", entry.removesuffix(".py").replace("_", "-")
        scanned = None
        with suppress(DocumentError):
            scanned = scan(read_inside(folder, path))
        if scanned is not None and scanned.is_workflow:
            is_entry = name in {scanned.name, stem}
            address, texts = (name, "steps") if is_entry else (f"{name}/{stem}", f"steps/{stem}")
            files.append(WorkflowFile(address, folder, path, texts))
    return files


def find_file(folder: str, address: str) -> WorkflowFile | None:
    """Return the workflow of *folder* at *address*, ``SKILL`` or ``SKILL/NAME``."""
    files = workflow_files(folder, address.partition("/")[0])
    return next((file for file in files if file.address == address), None)


def file_at(folder: str, address: str, path: str) -> WorkflowFile | None:
    """Return the workflow of *folder* at *address* if *path* is a possible path of it, otherwise `None`."""
    file = find_file(folder, address)
    is_same = file is not None and (file.path == path or {file.path, path} <= set(ENTRY_FILES))
    return file if is_same else None


def digests(folder: str, paths: Iterable[str]) -> dict[str, str]:
    """Return the current digest of each of *paths*; empty for one that cannot be read."""
    by_path = dict.fromkeys(paths, "")
    real_path = cache(os.path.realpath)
    for path in by_path:
        with suppress(DocumentError):
            by_path[path] = sha256_hex(read_inside(folder, path, real_path))
    return by_path


def _largest(path: str) -> int:
    if path.endswith(".md"):
        return size_limits.TEXT_BYTES
    return size_limits.PYTHON_BYTES if path.endswith(".py") else size_limits.YAML_BYTES


def read_inside(folder: str, path: str, real_path: Callable[[str], str] = os.path.realpath) -> bytes:
    """Return a file of the folder, which must be inside it after links are resolved."""
    if not re.match(INSIDE, path) or ".." in path.split("/"):
        raise DocumentError(
            f"`{path[:80]}` is not a path inside the skill's folder",
            hint="name a file below the folder, such as steps/look.md",
            place=path[:80],
        )
    full = os.path.join(folder, path)
    real, root = real_path(os.path.dirname(full)), real_path(folder)
    if real != root and not real.startswith(root + os.sep):
        raise DocumentError(
            f"`{path}` is a link out of the skill's folder",
            hint="put the file itself in the folder",
            place=path,
        )
    return read_bounded(full, limit=_largest(path), what=f"`{path}`")


_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(?:\.md)?\Z")


class UnknownResourceError(UsageError):
    """No resource, convention, workflow or step has that name."""

    code = "UNKNOWN_RESOURCE"


class ResourceProvider:
    """The texts and workflows that a function can read besides its own workflow.

    They are in folders, of which the nearest wins. Nothing outside these is read, and links are not followed.
    """

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
        return _safe_name(name, self.conventions, "convention")

    def get_resource(self, name: str) -> str:
        """Return the text of a resource, from the nearest folder that has it."""
        return _safe_name(name, self.resources, "resource")

    def read_file(self, path: str) -> str:
        """Return the text of a file below the project, with links resolved."""
        root = os.path.realpath(self.project)
        full = os.path.realpath(os.path.join(root, path)) if "\0" not in path else ""
        if not full.startswith(root + os.sep):
            raise UsageError(f"`{path}` is outside the project", hint="name a file below it", path=path)
        return decode(read_bounded(full, limit=size_limits.YAML_BYTES, what=f"`{path}`"), source=path)

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
            ids = [step.id for step in workflow.steps]
            raise UnknownResourceError(
                f"`{address}` has no step `{step_id}`",
                hint=did_you_mean(step_id, ids, "name one of its steps"),
                steps=ids,
            )
        return step


def _safe_name(name: str, folders: Sequence[str], kind: str) -> str:
    if _NAME.match(name):
        file = name if name.endswith(".md") else f"{name}.md"
        for folder in folders:
            path = os.path.join(folder, file)
            if os.path.isfile(path):
                return decode(
                    read_bounded(path, limit=size_limits.YAML_BYTES, what=f"the {kind}"), source=file
                )
    known = sorted({entry.removesuffix(".md") for folder in folders for entry in list_names(folder, ".md")})
    raise UnknownResourceError(
        f"unknown {kind} `{name[:80]}`",
        hint=did_you_mean(name[:80], known, f"known: {', '.join(known) or 'none'}"),
        known=known,
    )
