"""A workflow written in YAML: its data with the texts of the files that it names."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from flowrail.errors import DocumentError
from flowrail.machines.definition.findings import Finding, Locate, Path, Place, in_order
from flowrail.machines.definition.from_data import DocumentProblem, Reader
from flowrail.machines.definition.step import LARGEST_TOGETHER
from flowrail.machines.definition.validation import findings_of_reader
from flowrail.machines.definition.validation.shape import path_in_data
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading.workflow_document import ReadWorkflow, misnamed
from flowrail.text.yaml import load

ReadText = Callable[[str], str]
"""Returns the text of a file of the skill's folder by its relative path; raises `DocumentError`."""


def read_yaml(
    data: bytes, *, name: str, source: str, read_text: ReadText, text_folder: str = "steps"
) -> ReadWorkflow:
    """Return the workflow that a YAML document describes, with all findings.

    *source* is the document's name in findings. *text_folder* contains the steps' texts unless a step names another file.
    """
    try:
        document = load(data, source=source)
    except DocumentError as error:
        finding = Finding("FR100", "error", error.fact, str(error.hint), Place.of(error.place))
        return ReadWorkflow(Workflow(name, validate=False), (finding,), lambda _path: Place(source))

    def place(path: Path) -> Place:
        line, column = document.position(path)
        last = path[-1] if path else None
        if isinstance(last, str) and last.startswith("$"):  # a placeholder, in the text at that position
            lines = data.decode().removeprefix("\ufeff").split("\n")[line - 1 :]
            below, inside = _position_in("\n".join(lines)[column - 1 :], (last,))
            if inside:
                line, column = line + below - 1, inside + (column - 1 if below == 1 else 0)
        return Place(source, line, column)

    return read_data(document.value, name=name, place=place, read_text=read_text, text_folder=text_folder)


def read_data(
    data: object, *, name: str, place: Locate, read_text: ReadText, text_folder: str = "steps"
) -> ReadWorkflow:
    """Return the workflow that the *data* of a YAML document describes, with all findings."""
    if not isinstance(data, Mapping):
        remedy = "start with `name:` and `steps:`"
        finding = Finding("FR100", "error", "the file does not contain a mapping", remedy, place(()))
        return ReadWorkflow(Workflow(name, validate=False, origin=str(place(()))), (finding,), place)
    texts = _StepTexts(place, read_text, text_folder)
    reader = Reader(place=place)
    workflow: Workflow = reader.part({**texts.put_into(data), "name": name}, Workflow, ())
    if "name" not in data:
        reader.problems.append(DocumentProblem(("name",), "is missing", "add it"))

    def locate(path: Path) -> Place:
        return texts.where(path_in_data(path, reader.steps_read))

    found = [*texts.findings, *misnamed(data.get("name"), name, place)]
    reported = {(finding.code, finding.place) for finding in found}
    raws = [(raw, texts.where(raw.path)) for raw in findings_of_reader(reader, workflow)]
    found += [raw.at(where) for raw, where in raws if (raw.code, place(raw.path)) not in reported]
    return ReadWorkflow(workflow, tuple(in_order(found)), locate)


class _StepTexts:
    """Replaces names of files in a document by their texts."""

    def __init__(self, place: Locate, read_text: ReadText, folder: str) -> None:
        self.place = place
        self.read_text = read_text
        self.folder = folder
        self.findings: list[Finding] = []
        self.files: dict[Path, tuple[str, str]] = {}
        self._texts: dict[str, str] = {}
        self._length = 0

    def put_into(self, data: Mapping[str, object]) -> dict[str, object]:
        """Return *data* with the text of each file in place of its name."""
        steps = data.get("steps")
        if not isinstance(steps, list):
            return dict(data)
        return {**data, "steps": [self._step(step, ("steps", index)) for index, step in enumerate(steps)]}

    def where(self, path: Path) -> Place:
        """Return where *path* is written; for a text from a file, its line there."""
        for length in range(len(path), 2, -1):
            if path[:length] in self.files:
                name, text = self.files[path[:length]]
                return Place(name, *_position_in(text, path[length:]))
        return self.place(path)

    def _step(self, data: object, path: Path) -> object:
        if not isinstance(data, Mapping) or not isinstance(data.get("id"), str):
            return data
        step = dict(data)
        if step.get("actions") is None and isinstance(step.get("text"), str | None):
            named = step.pop("text", None)
            name, key = (named, "text") if named is not None else (f"{self.folder}/{step['id']}.md", "id")
            step["actions"] = self._file(name, (*path, key), (*path, "actions"), step["id"])
        variants = step.get("variants")
        if isinstance(variants, list):
            step["variants"] = [
                self._variant(variant, (*path, "variants", index)) for index, variant in enumerate(variants)
            ]
        dispatch = step.get("dispatch")
        if isinstance(dispatch, Mapping) and isinstance(dispatch.get("prompt"), str):
            at = (*path, "dispatch", "prompt")
            step["dispatch"] = {**dispatch, "prompt": self._file(dispatch["prompt"], at, at)}
        if isinstance(dispatch, Mapping) and isinstance(dispatch.get("evidence"), list):
            checks = self._checks(dispatch["evidence"], (*path, "dispatch", "evidence"))
            step["dispatch"] = {**step["dispatch"], "evidence": checks}
        if isinstance(step.get("evidence"), Mapping):
            step["evidence"] = {
                outcome: self._checks(checks, (*path, "evidence", outcome))
                for outcome, checks in step["evidence"].items()
            }
        return step

    def _variant(self, data: object, path: Path) -> object:
        if not isinstance(data, Mapping) or not isinstance(data.get("text"), str) or data.get("actions"):
            return data
        at = (*path, "text")
        rest = {key: value for key, value in data.items() if key != "text"}
        return {**rest, "actions": self._file(data["text"], at, at)}

    def _checks(self, checks: object, path: Path) -> object:
        if not isinstance(checks, list):
            return checks
        return [self._check(check, (*path, index)) for index, check in enumerate(checks)]

    def _check(self, data: object, path: Path) -> object:
        if not isinstance(data, Mapping) or not isinstance(data.get("schema"), str):
            return data
        at = (*path, "schema")
        return {**data, "schema": "\n".join(self._file(data["schema"], at, at))}

    def _file(self, name: str, path: Path, contents: Path, step_id: str | None = None) -> list[str]:
        """Return the text of the file that *path* names; *contents* is the path of findings in the text."""
        try:
            text = self._text_of(name)
        except DocumentError as error:
            what = f"no text: {error.fact}"
            self.findings.append(Finding("FR125", "error", what, str(error.hint), self.place(path), step_id))
            return [f"(no text: {name})"]
        self.files[contents] = (name, text)
        return [text.strip("\n")]

    def _text_of(self, name: str) -> str:
        if self._length <= LARGEST_TOGETHER:
            text = self._texts[name] = self._texts[name] if name in self._texts else self.read_text(name)
            self._length += len(text)
            if self._length <= LARGEST_TOGETHER:
                return text
        fact = f"the texts have more than {LARGEST_TOGETHER} characters together"
        raise DocumentError(fact, hint="split the workflow", place=name)


def _position_in(text: str, inside: Path) -> tuple[int, int]:
    """Return the line and column in *text* of the last word of a path, otherwise the first line."""
    word = next((part for part in reversed(inside) if isinstance(part, str)), None)
    found = re.search(rf"{re.escape(word)}(?![a-z0-9_])", text) if word else None
    if found is None:
        return 1, 0
    return text.count("\n", 0, found.start()) + 1, found.start() - text.rfind("\n", 0, found.start())
