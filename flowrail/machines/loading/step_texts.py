"""The files that a workflow is read from: its own, the texts that its steps name, and the resources that they quote."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any

from flowrail.errors import DocumentError
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.findings import MOST_FOUND, Path, Place, UnplacedFinding
from flowrail.machines.frozen import Frozen
from flowrail.machines.loading.skill_folder import WorkflowFile, read_inside
from flowrail.machines.parts import texts_of
from flowrail.machines.step import LARGEST_TOGETHER, STEP_ID, StepDef, Variant
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import MissingFileError, list_names
from flowrail.text.placeholders import fences
from flowrail.text.safe_text import decode

_FILE = re.compile(r"[\w./-]+\.md\Z")
_QUOTE = "flow:resource"


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
        self._length = 0
        self.files: dict[str, bytes] = {}
        self.problems: list[UnplacedFinding] = []
        """Texts and resources that cannot be read."""
        self.places: dict[Path, tuple[str, str]] = {}
        """The file and the text of each value of the workflow that was read from a file."""

    def data(self, path: str) -> bytes:
        """Return the content of the file *path*; `DocumentError` if it cannot be read."""
        if path not in self.files:
            if self._contents is None:
                self.files[path] = read_inside(self._file.folder, path, self._real_path)
            elif path in self._contents:
                self.files[path] = self._contents[path]
            else:
                raise MissingFileError(f"`{path}` does not exist", hint="write it", place=path)
        return self.files[path]

    def read(self, path: str) -> str:
        """Return the text of the file *path*, which counts each time; `DocumentError` if it cannot be read."""
        text = decode(self.data(path), source=path)
        self._length += len(text)
        if self._length > LARGEST_TOGETHER:
            fact = f"the texts have more than {LARGEST_TOGETHER} characters together"
            raise DocumentError(fact, hint="split the workflow", place=path)
        return text

    def place(self, path: Path) -> Place | None:
        """Return the place of *path* if it is in a text: the last word of the path, or the first line."""
        for length in range(len(path), 2, -1):
            if path[:length] in self.places:
                file, text = self.places[path[:length]]
                return Place(file, *position_in(text, path[length:]))
        return None

    def complete(self, workflow: Workflow) -> Workflow:
        """Return *workflow* with the texts that its steps name and the resources that they quote."""
        steps = [
            self._step(step, ("steps", index)) if isinstance(step, StepDef) else step
            for index, step in enumerate(workflow.steps)
        ]
        if self.places:
            workflow = workflow.changed(steps=tuple(steps), is_checked=False)
        resources = dict(self._resources(workflow))
        return workflow.changed(resources=Frozen(resources)) if resources else workflow

    def _step(self, step: StepDef, path: Path) -> StepDef:
        """Return *step* with the texts of its files. Without `actions` and `text`, it has a file named after it."""
        changed: dict[str, Any] = {}
        if not (callable(step.actions) or step.actions) and (step.text is not None or STEP_ID.match(step.id)):
            is_needed = step.text is not None or step.handler is None
            file = step.text or f"{self._file.text_folder}/{step.id}.md"
            changed["actions"] = self._text(file, (*path, "actions"), is_needed=is_needed)
        if isinstance(step.variants, tuple) and any(variant.text for variant in step.variants):
            changed["variants"] = tuple(
                self._variant(variant, (*path, "variants", number, "actions"))
                for number, variant in enumerate(step.variants)
            )
        for name in ("dispatch", "handler"):
            work = getattr(step, name)
            if isinstance(work, Dispatch) and len(work.prompt) == 1 and _FILE.match(work.prompt[0]):
                prompt = self._text(work.prompt[0], (*path, name, "prompt"))
                changed[name] = replace(work, prompt=prompt)
        return replace(step, **changed, text=None) if changed else step

    def _variant(self, variant: Variant, path: Path) -> Variant:
        if variant.text is None or variant.actions:
            return variant
        return replace(variant, actions=self._text(variant.text, path), text=None)

    def _text(self, file: str, path: Path, *, is_needed: bool = True) -> tuple[str, ...]:
        """Return the text of a file as the paragraphs of the value at *path*; none if it cannot be read."""
        try:
            text = self.read(file)
        except DocumentError as error:
            if is_needed or not isinstance(error, MissingFileError):
                words = ".".join(str(part + 1) if isinstance(part, int) else part for part in path[2:])
                message = f"the text of `{words}` is missing: {error.fact}"
                is_default = path[2:] == ("actions",) and isinstance(error, MissingFileError)
                remedy = "write the file, or `actions`" if is_default else str(error.hint)
                self.problems.append(UnplacedFinding("FR125", path, message, remedy))
            return ()
        self.places[path] = file, text
        return (text.strip("\n"),)

    def _resources(self, workflow: Workflow) -> Iterator[tuple[str, str]]:
        """Yield the resources that steps quote in fences, and all of the folder if a function may quote any of them."""
        seen: set[str] = set()
        for index, step in enumerate(workflow.steps):
            for name in _quoted(step):
                if name not in seen and len(self.problems) < MOST_FOUND:
                    seen.add(name)
                    try:
                        yield name, self._quoted_text(name)
                    except DocumentError as error:
                        message = f"step `{step.id}` quotes the resource `{name[:60]}`: {error.fact}"
                        path = ("steps", index, "actions", name)
                        self.problems.append(UnplacedFinding("FR127", path, message))
        if any(callable(step.actions) for step in workflow.steps):
            known = [
                path.removeprefix("resources/")
                for path in self._contents or ()
                if path.startswith("resources/")
            ]
            if self._contents is None:
                known = list_names(os.path.join(self._file.folder, "resources"), ".md")
            for name in sorted({name.removesuffix(".md") for name in known if name.endswith(".md")} - seen):
                with suppress(DocumentError):
                    yield name, self.read(f"resources/{name}.md").strip("\n")

    def _quoted_text(self, name: str) -> str:
        """Return a text that a step quotes: a resource, or a convention of the skill or of all skills."""
        try:
            return self.read(f"resources/{name}.md").strip("\n")
        except MissingFileError:
            with suppress(MissingFileError):
                return self.read(f"conventions/{name}.md").strip("\n")
            text = self._convention(name)
            if text is None:
                raise
            return text.strip("\n")


def _quoted(step: StepDef) -> Iterator[str]:
    """Yield the names of the resources in ``flow:resource`` fences of *step*."""
    for text in texts_of(step):
        if text.key in {"actions", "variants", "prompt"} and _QUOTE in text.value:
            for fence in fences(text.value):
                lines = fence.body(text.value).splitlines() if fence.info == _QUOTE else []
                yield from filter(None, (line.strip().removeprefix("- ") for line in lines))


def position_in(text: str, inside: Path) -> tuple[int, int]:
    """Return the line and column in *text* of the last word of a path, otherwise the first line."""
    word = next((part for part in reversed(inside) if isinstance(part, str)), None)
    match = re.search(rf"{re.escape(word)}(?![a-z0-9_])", text) if word else None
    if match is None:
        return 1, 0
    return text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start())
