"""A workflow written in YAML: its data with the texts of the files that it names."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.errors import DocumentError
from flowrail.machines.checks.validation import independent, raw_findings
from flowrail.machines.findings import (
    Finding,
    Locate,
    Path,
    Place,
    UnplacedFinding,
    in_order,
)
from flowrail.machines.loading.loaded_workflow import LoadedWorkflow, misnamed
from flowrail.machines.loading.step_texts import ReadText, position_in, with_texts
from flowrail.machines.reader import read_workflow
from flowrail.machines.workflow import Workflow
from flowrail.text.yaml import load


def read_yaml(
    data: bytes, *, name: str, source: str, read_text: ReadText, text_folder: str = "steps"
) -> LoadedWorkflow:
    """Return the workflow that a YAML document describes, with all findings.

    *source* is the document's name in findings. *text_folder* contains the steps' texts unless a step names another file.
    """
    try:
        document = load(data, source=source, all_problems=True)
    except DocumentError as error:
        finding = Finding("FR100", "error", error.fact, str(error.hint), Place.of(error.place))
        return LoadedWorkflow(Workflow(name, validate=False), (finding,), lambda _: finding.place)

    def place(path: Path) -> Place:
        line, column = document.position(path)
        last = path[-1] if path else None
        if isinstance(last, str) and last.startswith("$"):  # a placeholder, in the text at that position
            lines = data.decode().removeprefix("\ufeff").split("\n")[line - 1 :]
            below, inside = position_in("\n".join(lines)[column - 1 :], (last,))
            if inside:
                line, column = line + below - 1, inside + (column - 1 if below == 1 else 0)
        return Place(source, line, column)

    loaded = read_data(document.value, name=name, place=place, read_text=read_text, text_folder=text_folder)
    refused = [
        Finding(
            *("FR131" if problem.is_duplicate else "FR130", "error", problem.fact, problem.hint),
            Place(source, problem.line),
        )
        for problem in document.problems
    ]
    return loaded._replace(findings=tuple(in_order((*refused, *loaded.findings))))


def read_data(
    data: object, *, name: str, place: Locate, read_text: ReadText, text_folder: str = "steps"
) -> LoadedWorkflow:
    """Return the workflow that the *data* of a YAML document describes, with all findings."""
    if not isinstance(data, Mapping):
        remedy = "start with `name:` and `steps:`"
        finding = Finding("FR100", "error", "the file does not contain a mapping", remedy, place(()))
        return LoadedWorkflow(Workflow(name, validate=False), (finding,), place)
    read = read_workflow({**data, "name": name})
    texts = with_texts(read.workflow, read_text, text_folder)

    def locate(path: Path) -> Place:
        return texts.place(path) or place(path)

    problems = [read.named(raw) for raw in (*read.problems, *texts.problems)]
    wrong = [raw for raw in problems if raw.path]
    others = [*independent(raw_findings(texts.workflow), wrong, lacks_steps=bool(read.unread))]
    if "name" not in data:
        problems.insert(0, UnplacedFinding("FR130", (), "`name` is missing", "add it"))
    findings = misnamed(data.get("name"), name, place)
    is_misnamed = bool(findings)
    findings += [raw.at(place(raw.path)) for raw in problems]
    findings += [raw.at(locate(raw.path)) for raw in others if not (is_misnamed and raw.path == ("name",))]
    return LoadedWorkflow(texts.workflow, tuple(in_order(findings)), locate)
