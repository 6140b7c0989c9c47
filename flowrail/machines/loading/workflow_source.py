"""Read or run one workflow file of a skill's folder, with the texts that it names and quotes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from typing import NamedTuple, TypeAlias

from flowrail.errors import DocumentError
from flowrail.machines.definition.findings import (
    MOST_FOUND,
    Finding,
    Locate,
    in_order,
    raise_errors,
)
from flowrail.machines.definition.step import LARGEST_TOGETHER
from flowrail.machines.definition.workflow import Suppression, Workflow
from flowrail.machines.loading.python_source import read_python
from flowrail.machines.loading.skill_folder import INSIDE, WorkflowFile, content_of, digest
from flowrail.machines.loading.yaml_file import read_yaml
from flowrail.text.safe_text import decode

COMPUTED = "FR190"
_COMMENT = rb"(?m)^[ \t]*#[ \t]*flow: ignore (FR\d+)(?: of ([\w-]+))?[ \t]*:?[ \t]*(.*)$"
_QUOTES = r"(?sm)^ {0,3}(?:`{3,}|~{3,})[ \t]*flow:resource[ \t]*\n(.*?)^ {0,3}(?:`{3,}|~{3,})"


class LoadedWorkflow(NamedTuple):
    """A workflow, its findings, and the content of each of its files."""

    definition: Workflow
    findings: tuple[Finding, ...]
    files: Mapping[str, bytes]
    suppressions: tuple[Suppression, ...] = ()
    locate: Locate | None = None

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each file."""
        return {path: digest(data) for path, data in self.files.items()}

    @property
    def is_computed(self) -> bool:
        """Whether parts of the workflow are only known when its Python file runs."""
        return any(finding.code == COMPUTED for finding in self.findings)

    def workflow(self) -> Workflow:
        """Return the validated workflow; `WorkflowError` with every error if there are any."""
        raise_errors(self.definition.name, self.findings)
        self.definition.derived["checked"] = True
        return self.definition


ReadFile: TypeAlias = "Callable[[WorkflowFile], LoadedWorkflow]"
"""Reads a workflow: `read` as text, or `operations.skills.load.run_file` by running it."""


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
    texts = SkillTexts(file, contents, convention)
    if file.is_python:
        data = content_of(file, file.path, contents)
        texts.files[file.path] = data
        found = read_python(data, file.address, file.path, text_of=texts.of_step)
        suppressions = (*found.definition.ignore, *suppressions_in(data, file.path))
        workflow, missing = texts.with_resources(found.definition, found.locate)
        findings = tuple(in_order((*found.findings, *missing)))
        return LoadedWorkflow(workflow, findings, texts.files, suppressions, found.locate)
    return _read_yaml(file, contents, texts)


class SkillTexts:
    """The texts of a skill's folder, and the content of each file that was read."""

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
        self.files: dict[str, bytes] = {}

    def read(self, path: str) -> str:
        """Return the text of the file *path*; `DocumentError` if it cannot be read."""
        data = content_of(self._file, path, self._contents, self._real_path)
        self.files[path] = data
        return decode(data, source=path)

    def of_step(self, step_id: str) -> str | None:
        """Return the text in the file of a step, or `None` if it has none."""
        path = f"{self._file.text_folder}/{step_id}.md"
        is_there = (
            path in self._contents
            if self._contents is not None
            else re.match(INSIDE, path) and os.path.lexists(os.path.join(self._file.folder, path))
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
        return (workflow.with_resources(resources) if resources else workflow), missing

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


def _read_yaml(file: WorkflowFile, contents: Mapping[str, bytes] | None, texts: SkillTexts) -> LoadedWorkflow:
    data = content_of(file, file.path, contents)
    texts.files[file.path] = data
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


def suppressions_in(data: bytes, source: str) -> tuple[Suppression, ...]:
    """Return the suppressions in the comments of a Python file."""
    found = []
    for match in re.finditer(_COMMENT, data):
        line = data.count(b"\n", 0, match.start()) + 1
        code, step, reason = (part.decode("utf-8", "replace") if part else "" for part in match.groups())
        found.append(Suppression(code, reason.strip(), step or None, f"{source}:{line}"))
    return tuple(found)
