"""A skill's folder: its workflows, each read with its files and their digests, and what functions read from it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

from flowrail.errors import DocumentError, UsageError
from flowrail.machines.definition.findings import (
    MOST_FOUND,
    Finding,
    Locate,
    Place,
    Suppression,
    in_order,
    raise_errors,
    suppressions_in,
)
from flowrail.machines.definition.step import LARGEST_TOGETHER, StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.storage.files import read_bounded, sha256_hex
from flowrail.text import limits
from flowrail.text.phrases import did_you_mean
from flowrail.text.safe_text import decode

MOST_READ = 64_000_000  # to tell whether a folder changed: no definition comes from as much
COMPUTED = "FR190"
ENTRY_FILES = ("workflow.yaml", "workflow.py")
_QUOTES = r"(?sm)^ {0,3}(?:`{3,}|~{3,})[ \t]*flow:resource[ \t]*\n(.*?)^ {0,3}(?:`{3,}|~{3,})"
_INSIDE = r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*\Z"


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


ReadFile: TypeAlias = "Callable[[WorkflowFile], LoadedWorkflow]"
"""Reads a workflow: `read` as text, or `operations.running.open_workflow.run_file` by running it."""


class LoadedWorkflow(NamedTuple):
    """A workflow, its findings, and the digests of its files."""

    definition: Workflow
    findings: tuple[Finding, ...]
    files: Mapping[str, str]
    suppressions: tuple[Suppression, ...] = ()
    locate: Locate | None = None

    @property
    def is_computed(self) -> bool:
        """Whether parts of the workflow are only known when its Python file runs."""
        return any(finding.code == COMPUTED for finding in self.findings)

    def workflow(self) -> Workflow:
        """Return the validated workflow; `WorkflowError` with every error if there are any."""
        raise_errors(self.definition.name, self.findings)
        self.definition.derived["checked"] = True
        return self.definition


def entry_file(folder: str, name: str) -> WorkflowFile | None:
    """Return the entry workflow of *folder*, or `None`."""
    for path in ENTRY_FILES:
        if os.path.lexists(os.path.join(folder, path)):
            return WorkflowFile(name, folder, path, "steps")
    return None


def named_files(folder: str, name: str) -> list[WorkflowFile]:
    """Return the workflows beside the entry one, by name."""
    try:
        entries = sorted(os.listdir(os.path.join(folder, "workflows")))
    except OSError:
        return []
    return [_named(folder, name, entry.removesuffix(".yaml")) for entry in entries if entry.endswith(".yaml")]


def find_file(folder: str, address: str) -> WorkflowFile | None:
    """Return the workflow of *folder* at *address*, ``SKILL`` or ``SKILL/NAME``."""
    name, slash, inner = address.partition("/")
    if not slash:
        return entry_file(folder, name)
    file = _named(folder, name, inner)
    return file if "/" not in inner and os.path.lexists(os.path.join(folder, file.path)) else None


def file_at(folder: str, address: str, path: str) -> WorkflowFile | None:
    """Return the workflow of *folder* at *address* if *path* is a possible path of it, otherwise `None`."""
    name, slash, inner = address.partition("/")
    if slash:
        file = _named(folder, name, inner)
        return file if path == file.path else None
    standing = entry_file(folder, name) or WorkflowFile(name, folder, path, "steps")
    return standing if path in ENTRY_FILES else None


def _named(folder: str, name: str, inner: str) -> WorkflowFile:
    return WorkflowFile(f"{name}/{inner}", folder, f"workflows/{inner}.yaml", f"steps/{inner}")


def digests(folder: str, paths: Mapping[str, str]) -> dict[str, str]:
    """Return the current digest of each of *paths*; empty for one that cannot be read, and beyond `MOST_READ`."""
    now: dict[str, str] = {}
    real = cache(os.path.realpath)
    left = MOST_READ
    for path in paths:
        now[path] = ""
        if left >= 0:
            with suppress(DocumentError):
                data = _bytes(folder, path, real)
                now[path] = digest(data)
                left -= len(data)
    return now


def digest(data: bytes) -> str:
    """Return the SHA-256 of *data*."""
    return sha256_hex(data)


def read(
    file: WorkflowFile,
    contents: Mapping[str, bytes] | None = None,
    *,
    convention: Callable[[str], str | None] = lambda _: None,
) -> LoadedWorkflow:
    """Return the workflow in *file* with its findings; nothing of it is run.

    With *contents*, a snapshot of the folder, nothing is read from the disk again. *convention* returns a text that
    is quoted and not in the folder.
    """
    texts = _Texts(file, contents, convention)
    if file.is_python:
        from flowrail.machines.loading.python_source import read_python  # only for a Python workflow

        data = _taken(file, file.path, contents)
        texts.files[file.path] = digest(data)
        found = read_python(data, file.address, file.path, text_of=texts.of_step)
        suppressions = (*found.definition.ignore, *suppressions_in(data, file.path))
        workflow, missing = texts.with_resources(found.definition, found.locate)
        findings = tuple(in_order((*found.findings, *missing)))
        return LoadedWorkflow(workflow, findings, texts.files, suppressions, found.locate)
    return _read_yaml(file, contents, texts)


def run(
    file: WorkflowFile,
    contents: Mapping[str, bytes] | None = None,
    *,
    convention: Callable[[str], str | None] = lambda _: None,
) -> LoadedWorkflow:
    """Return the workflow in *file*, ready to run; a Python one is run, which must be allowed."""
    if not file.is_python:
        loaded = read(file, contents, convention=convention)
        return loaded._replace(definition=loaded.definition.located(file.folder))
    from flowrail.machines.loading.run_python import run_python  # only for a Python workflow

    texts = _Texts(file, contents, convention)
    data = _taken(file, file.path, contents)
    texts.files[file.path] = digest(data)
    path = os.path.join(file.folder, file.path)
    workflow = run_python(data, file.address, path, text_of=texts.of_step)
    workflow, missing = texts.with_resources(workflow, lambda _: Place(file.path))
    suppressions = (*workflow.ignore, *suppressions_in(data, file.path))
    return LoadedWorkflow(workflow.located(file.folder), tuple(missing), texts.files, suppressions)


class _Texts:
    """The texts of a skill's folder, with the digest of each file that was read."""

    def __init__(
        self,
        file: WorkflowFile,
        contents: Mapping[str, bytes] | None,
        convention: Callable[[str], str | None],
    ) -> None:
        self._file = file
        self._convention = convention
        self._contents = contents
        self._real_path = cache(os.path.realpath)
        self.files: dict[str, str] = {}

    def read(self, path: str) -> str:
        """Return the text of the file *path*; `DocumentError` if it cannot be read."""
        data = _taken(self._file, path, self._contents, self._real_path)
        self.files[path] = digest(data)
        return decode(data, source=path)

    def of_step(self, step_id: str) -> str | None:
        """Return the text in the file of a step, or `None` if it has none."""
        path = f"{self._file.text_folder}/{step_id}.md"
        is_there = (
            path in self._contents
            if self._contents is not None
            else re.match(_INSIDE, path) and os.path.lexists(os.path.join(self._file.folder, path))
        )
        return self.read(path).strip("\n") if is_there else None

    def quoted(self, name: str) -> str:
        """Return a text that a step quotes: a resource, or a convention of the skill or of all skills."""
        try:
            return self.read(f"resources/{name}.md").strip("\n")
        except DocumentError:
            with suppress(DocumentError):
                return self.read(f"conventions/{name}.md").strip("\n")
            text = self._convention(name)
            if text is None:
                raise
            return text.strip("\n")

    def with_resources(self, workflow: Workflow, locate: Locate) -> tuple[Workflow, list[Finding]]:
        """Return *workflow* with the resources that its steps quote, and a finding for each that cannot be read."""
        resources, missing = _resources(workflow, self.quoted, locate)
        if any(callable(step.actions) for step in workflow.steps):
            self._add_all(resources)
        return (workflow.with_parts(resources=resources) if resources else workflow), missing

    def _add_all(self, resources: dict[str, str]) -> None:
        """Add every resource of the folder: a function may quote any of them."""
        paths: list[str] = []
        if self._contents is not None:
            paths = [path for path in self._contents if path.startswith("resources/")]
        else:
            with suppress(OSError):
                paths = [
                    f"resources/{entry}" for entry in os.listdir(os.path.join(self._file.folder, "resources"))
                ]
        left = LARGEST_TOGETHER - sum(map(len, resources.values()))
        for path in sorted(paths):
            name = path.removeprefix("resources/").removesuffix(".md")
            if path.endswith(".md") and name not in resources:
                with suppress(DocumentError):
                    text = self.read(path).strip("\n")
                    left -= len(text)
                    if left >= 0:
                        resources[name] = text


def _read_yaml(file: WorkflowFile, contents: Mapping[str, bytes] | None, texts: _Texts) -> LoadedWorkflow:
    from flowrail.machines.loading.yaml_file import read_yaml  # brings PyYAML; a report reads no workflow

    data = _taken(file, file.path, contents)
    texts.files[file.path] = digest(data)
    found = read_yaml(
        data, name=file.address, source=file.path, read_text=texts.read, text_folder=file.text_folder
    )
    workflow, missing = texts.with_resources(found.definition, found.locate)
    findings = tuple(in_order((*found.findings, *missing)))
    return LoadedWorkflow(workflow, findings, texts.files, workflow.ignore, found.locate)


def _resources(
    definition: Workflow, quoted: Callable[[str], str], locate: Locate
) -> tuple[dict[str, str], list[Finding]]:
    """Return the texts that the steps quote with a ``flow:resource`` fence, and the names of missing ones."""
    resources: dict[str, str] = {}
    findings: list[Finding] = []
    size = 0
    for index, step in enumerate(definition.steps):
        actions = () if callable(step.actions) else step.actions
        texts = [*actions, *(text for variant in step.variants for text in variant.actions)]
        texts += step.work.prompt if step.work is not None else ()
        for body in re.findall(_QUOTES, "\n".join(str(each) for each in texts)):
            for name in filter(None, (line.strip().removeprefix("- ") for line in body.splitlines())):
                if name in resources:
                    continue
                try:
                    text = quoted(name)
                except DocumentError as error:
                    what = f"step `{step.id}` quotes the resource `{name[:60]}`: {error.fact}"
                    place = locate(("steps", index, "actions", name))
                    findings.append(
                        Finding("FR127", "error", what, "write it, or fix the name", place, step.id)
                    )
                    if len(findings) == MOST_FOUND:
                        return resources, findings
                    continue
                size += len(text)
                if size > LARGEST_TOGETHER:
                    what = f"the resources have more than {LARGEST_TOGETHER} characters together"
                    place = locate(("steps", index, "actions", name))
                    findings.append(Finding("FR127", "error", what, "quote fewer of them", place, step.id))
                    return resources, findings
                resources[name] = text
    return resources, findings


def _largest(path: str) -> int:
    if path.endswith(".md"):
        return limits.TEXT_BYTES
    return limits.PYTHON_BYTES if path.endswith(".py") else limits.YAML_BYTES


def _taken(
    file: WorkflowFile,
    path: str,
    contents: Mapping[str, bytes] | None,
    real_path: Callable[[str], str] = os.path.realpath,
) -> bytes:
    """Return a file of the folder, from *contents* if they are given."""
    if contents is None:
        return _bytes(file.folder, path, real_path)
    if path not in contents:
        raise DocumentError("does not exist", hint="write it", place=path)
    return contents[path]


def _bytes(folder: str, path: str, real_path: Callable[[str], str] = os.path.realpath) -> bytes:
    """Return a file of the folder, which must be inside it after links are resolved."""
    if not re.match(_INSIDE, path) or ".." in path.split("/"):
        raise DocumentError(
            f"`{path[:80]}` is not a path inside the skill's folder",
            hint="name a file below the folder, such as steps/look.md",
            place=path[:80],
        )
    full = os.path.join(folder, path)
    real, root = real_path(os.path.dirname(full)), real_path(folder)
    if real != root and not real.startswith(root + os.sep):
        raise DocumentError(
            "is a link out of the skill's folder",
            hint="put the file itself in the folder",
            place=path,
        )
    return read_bounded(full, limit=_largest(path), what=f"`{path}`")


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


def _safe_name(name: str, folders: Sequence[str], kind: str) -> str:
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
