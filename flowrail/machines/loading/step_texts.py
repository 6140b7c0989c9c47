"""The texts that a workflow names: instructions of steps and variants, and prompts of agents, in files of the skill."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from flowrail.errors import DocumentError
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.findings import Path, Place, UnplacedFinding
from flowrail.machines.step import LARGEST_TOGETHER, STEP_ID, StepDef
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import MissingFileError

ReadText = Callable[[str], str]
"""Returns the text of a file of the skill's folder by its relative path; raises `DocumentError`."""
_FILE = re.compile(r"[\w./-]+\.md\Z")


@dataclass(frozen=True)
class WithTexts:
    """A workflow with the texts of the files that it names."""

    workflow: Workflow
    problems: tuple[UnplacedFinding, ...]
    """Files that cannot be read."""
    files: Mapping[Path, tuple[str, str]]
    """The name and the text of each file, by the path of the value that the text has become."""

    def place(self, path: Path) -> Place | None:
        """Return the place of *path* if it is in one of the files: the last word of the path, or the first line."""
        for length in range(len(path), 2, -1):
            if path[:length] in self.files:
                file, text = self.files[path[:length]]
                return Place(file, *position_in(text, path[length:]))
        return None


def with_texts(workflow: Workflow, read_text: ReadText, text_folder: str = "steps") -> WithTexts:
    """Return *workflow* with its texts. A step without `actions` and `text` has its text in *text_folder*."""
    reader = _Reader(read_text)
    steps = [
        reader.step(step, ("steps", index), text_folder) if isinstance(step, StepDef) else step
        for index, step in enumerate(workflow.steps)
    ]
    if reader.files:
        workflow = workflow.with_steps(steps)
    return WithTexts(workflow, tuple(reader.problems), reader.files)


class _Reader:
    """Reads each file once, and lists those that it cannot read."""

    def __init__(self, read_text: ReadText) -> None:
        self._read_text = read_text
        self._texts: dict[str, str] = {}
        self._length = 0
        self.problems: list[UnplacedFinding] = []
        self.files: dict[Path, tuple[str, str]] = {}

    def step(self, step: StepDef, path: Path, folder: str) -> StepDef:
        """Return *step* with the texts of its files."""
        changed: dict[str, Any] = {}
        if not callable(step.actions) and not step.actions:
            file = step.text or f"{folder}/{step.id}.md"
            if step.text is not None or STEP_ID.match(step.id):
                is_needed = step.text is not None or step.handler is None
                changed["actions"] = self._text(file, (*path, "actions"), is_needed=is_needed)
        if isinstance(step.variants, tuple):
            variants = tuple(
                replace(
                    variant, actions=self._text(variant.text, (*path, "variants", number, "text")), text=None
                )
                if variant.text is not None and not variant.actions
                else variant
                for number, variant in enumerate(step.variants)
            )
            changed |= {"variants": variants} if variants != step.variants else {}
        for name in ("dispatch", "handler"):
            work = getattr(step, name)
            if isinstance(work, Dispatch) and len(work.prompt) == 1 and _FILE.match(work.prompt[0]):
                prompt = self._text(work.prompt[0], (*path, "dispatch", "prompt"))
                changed[name] = replace(work, prompt=prompt)
        return replace(step, **changed, text=None) if changed else step

    def _text(self, file: str, path: Path, *, is_needed: bool = True) -> tuple[str, ...]:
        """Return the text of a file as the paragraphs of the value at *path*; none if it cannot be read."""
        try:
            text = self._read(file)
        except DocumentError as error:
            if is_needed or not isinstance(error, MissingFileError):
                words = ".".join(str(part + 1) if isinstance(part, int) else part for part in path[2:])
                message = f"the text of `{words}` is missing: {error.fact}"
                is_default = path[2:] == ("actions",) and isinstance(error, MissingFileError)
                remedy = "write the file, or `actions`" if is_default else str(error.hint)
                self.problems.append(UnplacedFinding("FR125", path, message, remedy))
            return ()
        self.files[path] = file, text
        return (text.strip("\n"),)

    def _read(self, file: str) -> str:
        if file not in self._texts:
            self._texts[file] = self._read_text(file)
        self._length += len(self._texts[file])
        if self._length > LARGEST_TOGETHER:
            fact = f"the texts have more than {LARGEST_TOGETHER} characters together"
            raise DocumentError(fact, hint="split the workflow", place=file)
        return self._texts[file]


def position_in(text: str, inside: Path) -> tuple[int, int]:
    """Return the line and column in *text* of the last word of a path, otherwise the first line."""
    word = next((part for part in reversed(inside) if isinstance(part, str)), None)
    match = re.search(rf"{re.escape(word)}(?![a-z0-9_])", text) if word else None
    if match is None:
        return 1, 0
    return text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start())
