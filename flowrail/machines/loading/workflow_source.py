"""Read one workflow file of a skill's folder, with the texts that it names and quotes."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import islice

from flowrail.errors import DocumentError
from flowrail.machines.checks.validation import part_of, raw_findings
from flowrail.machines.findings import (
    MOST_FOUND,
    Finding,
    Locate,
    Path,
    Place,
    WorkflowError,
    in_order,
)
from flowrail.machines.loading import python_file
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow
from flowrail.machines.loading.skill_folder import WorkflowFile, read_inside
from flowrail.machines.loading.step_texts import with_texts
from flowrail.machines.parts import texts_of
from flowrail.machines.step import LARGEST_TOGETHER
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import MissingFileError
from flowrail.text.placeholders import fences
from flowrail.text.safe_text import decode

_QUOTE = "flow:resource"


def read(
    file: WorkflowFile,
    contents: Mapping[str, bytes] | None = None,
    *,
    convention: Callable[[str], str | None] = lambda _: None,
) -> LoadedWorkflow:
    """Return the workflow in *file* with its findings. A Python file is run: `skills.loader` says whether it may.

    With *contents*, a snapshot of the folder, nothing is read from the disk again. *convention* returns a
    quoted text that is not in the folder.
    """
    texts = SkillTexts(file, contents, convention)
    data = texts.data(file.path)
    if file.is_python:
        loaded = _read_python(data, file, texts)
    else:
        from flowrail.machines.loading.yaml_file import read_yaml  # pydantic takes as long as a step

        loaded = read_yaml(
            data, name=file.address, source=file.path, read_text=texts.read, text_folder=file.text_folder
        )
    return texts.complete(loaded)


def _read_python(data: bytes, file: WorkflowFile, texts: SkillTexts) -> LoadedWorkflow:
    """Return what running a file gives. The errors that `Workflow` raises become findings."""
    source = data.decode("utf-8", "replace")

    def place_of(step_id: str | None, part: str) -> Place:
        """Return the line at which a step begins, or the first with its id."""
        if step_id is None:
            return Place(file.path, 1, part=part)
        quoted = f"[\"']{re.escape(step_id)}[\"']"
        match = re.search(rf"\b(?:StepDef\(|id=)\s*{quoted}", source) or re.search(quoted, source)
        return Place(file.path, source.count("\n", 0, match.start()) + 1 if match else 1, part=part)

    try:
        workflow = python_file.run(data, file.address, os.path.join(file.folder, file.path))
    except WorkflowError as error:
        findings = [
            replace(finding, place=place_of(finding.step, finding.place.part)) for finding in error.findings
        ]
        empty = Workflow(file.address, validate=False)
        return LoadedWorkflow(empty, tuple(findings), lambda _: Place(file.path))
    complete = with_texts(workflow, texts.read)

    def locate(where: Path) -> Place:
        index = where[1] if where[:1] == ("steps",) and where[1:] else None
        step_id = complete.workflow.steps[index].id if isinstance(index, int) else None
        return complete.place(where) or place_of(step_id, part_of(complete.workflow)(where).part)

    raws = [*complete.problems, *raw_findings(complete.workflow)]
    return LoadedWorkflow(complete.workflow, tuple(raw.at(locate(raw.path)) for raw in raws), locate)


class SkillTexts:
    """The files of a skill's folder, from the disk or from a snapshot, and the content of each that was read."""

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

    def data(self, path: str) -> bytes:
        """Return the content of the file *path*; `DocumentError` if it cannot be read."""
        if self._contents is None:
            self.files[path] = read_inside(self._file.folder, path, self._real_path)
        elif path in self._contents:
            self.files[path] = self._contents[path]
        else:
            raise MissingFileError(f"`{path}` does not exist", hint="write it", place=path)
        return self.files[path]

    def read(self, path: str) -> str:
        """Return the text of the file *path*; `DocumentError` if it cannot be read."""
        return decode(self.data(path), source=path)

    def complete(self, loaded: LoadedWorkflow) -> LoadedWorkflow:
        """Return *loaded* with the resources that its steps quote, its files and its folder."""
        workflow = loaded.definition
        resources: dict[str, str] = {}
        missing = [*islice(self._quoted_resources(workflow, loaded.locate, resources), MOST_FOUND)]
        if any(callable(step.actions) for step in workflow.steps):
            self._add_all(resources)
        if resources:
            workflow = workflow.with_resources(resources)
        return loaded._replace(
            definition=workflow.located(self._file.folder),
            findings=tuple(in_order((*loaded.findings, *missing))),
            files=self.files,
        )

    def _quoted_resources(
        self, workflow: Workflow, locate: Locate, resources: dict[str, str]
    ) -> Iterator[Finding]:
        """Add the texts in ``flow:resource`` fences of steps to *resources*; yield a finding for an unreadable one."""
        for index, step in enumerate(workflow.steps):
            texts = [text.value for text in texts_of(step) if text.key in {"actions", "variants", "prompt"}]
            lines = (
                line
                for text in texts
                if _QUOTE in text
                for fence in fences(text)
                if fence.info == _QUOTE
                for line in fence.body(text).splitlines()
            )
            for name in dict.fromkeys(line.strip().removeprefix("- ") for line in lines):
                if not name or name in resources:
                    continue
                message = f"step `{step.id}` quotes the resource `{name[:60]}`"
                place = locate(("steps", index, "actions", name))
                try:
                    text = self._quoted(name)
                except DocumentError as error:
                    hint = "write it, or fix the name"
                    yield Finding("FR127", "error", f"{message}: {error.fact}", hint, place, step.id)
                    continue
                if sum(map(len, resources.values())) + len(text) > LARGEST_TOGETHER:
                    message = f"the resources have more than {LARGEST_TOGETHER} characters together"
                    yield Finding("FR127", "error", message, "quote fewer of them", place, step.id)
                    return
                resources[name] = text

    def _quoted(self, name: str) -> str:
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

    def _add_all(self, resources: dict[str, str]) -> None:
        """Add every resource of the folder: a function may quote any of them."""
        names: list[str] = []
        if self._contents is not None:
            names = [
                path.removeprefix("resources/") for path in self._contents if path.startswith("resources/")
            ]
        else:
            with suppress(OSError):
                names = os.listdir(os.path.join(self._file.folder, "resources"))
        left = LARGEST_TOGETHER - sum(map(len, resources.values()))
        for name in sorted(name.removesuffix(".md") for name in names if name.endswith(".md")):
            if name not in resources:
                with suppress(DocumentError):
                    text = self.read(f"resources/{name}.md").strip("\n")
                    left -= len(text)
                    if left >= 0:
                        resources[name] = text
