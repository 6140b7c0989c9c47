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
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow, misnamed
from flowrail.text.yaml import load

ReadText = Callable[[str], str]
"""Returns the text of a file of the skill's folder by its relative path; raises `DocumentError`."""


def read_yaml(
    data: bytes, *, name: str, source: str, read_text: ReadText, text_folder: str = "steps"
) -> LoadedWorkflow:
    """Return the workflow that a YAML document describes, with all findings.

    *source* is the document's name in findings. *text_folder* contains the steps' texts unless a step names another file.
    """
    try:
        document = load(data, source=source)
    except DocumentError as error:
        finding = Finding("FR100", "error", error.fact, str(error.hint), Place.of(error.place))
        return LoadedWorkflow(Workflow(name, validate=False), (finding,), lambda _: finding.place)

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
) -> LoadedWorkflow:
    """Return the workflow that the *data* of a YAML document describes, with all findings."""
    if not isinstance(data, Mapping):
        remedy = "start with `name:` and `steps:`"
        finding = Finding("FR100", "error", "the file does not contain a mapping", remedy, place(()))
        return LoadedWorkflow(Workflow(name, validate=False, origin=str(place(()))), (finding,), place)
    reader = Reader(place=place, read_text=_bounded(read_text), text_folder=text_folder)
    workflow: Workflow = reader.part({**data, "name": name}, Workflow, ())
    if "name" not in data:
        reader.problems.append(DocumentProblem(("name",), "is missing", "add it"))

    def place_in_text(path: Path) -> Place:
        for length in range(len(path), 2, -1):
            if path[:length] in reader.files:
                file, text = reader.files[path[:length]]
                return Place(file, *_position_in(text, path[length:]))
        return place(path)

    def locate(path: Path) -> Place:
        return place_in_text(path_in_data(path, reader.steps_read))

    findings = misnamed(data.get("name"), name, place)
    is_misnamed = bool(findings)
    for raw in findings_of_reader(reader, workflow):
        if not (is_misnamed and raw.path == ("name",)):
            findings.append(raw.at(place_in_text(raw.path)))
    return LoadedWorkflow(workflow, tuple(in_order(findings)), locate)


def _bounded(read_text: ReadText) -> ReadText:
    """Return a function that reads each text once, and refuses it if all of them are too large together."""
    texts: dict[str, str] = {}
    length = 0

    def read(name: str) -> str:
        nonlocal length
        if length <= LARGEST_TOGETHER:
            if name not in texts:
                texts[name] = read_text(name)
            length += len(texts[name])
            if length <= LARGEST_TOGETHER:
                return texts[name]
        fact = f"the texts have more than {LARGEST_TOGETHER} characters together"
        raise DocumentError(fact, hint="split the workflow", place=name)

    return read


def _position_in(text: str, inside: Path) -> tuple[int, int]:
    """Return the line and column in *text* of the last word of a path, otherwise the first line."""
    word = next((part for part in reversed(inside) if isinstance(part, str)), None)
    match = re.search(rf"{re.escape(word)}(?![a-z0-9_])", text) if word else None
    if match is None:
        return 1, 0
    return text.count("\n", 0, match.start()) + 1, match.start() - text.rfind("\n", 0, match.start())
