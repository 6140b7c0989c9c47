"""The data of a workflow file, YAML or Python, as a workflow with everything that is wrong with it.

A value of the wrong shape is left out and reported; the rest is validated. Findings that only follow from a value
that was left out are not reported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from flowrail.machines.definition.findings import Finding, Locate, Path, Raw, first, in_order
from flowrail.machines.definition.serialization import DocumentProblem, Reader
from flowrail.machines.definition.step import NAMES, WORKFLOW_NAME
from flowrail.machines.definition.validation import raw_findings
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.safe_text import in_quotes
from flowrail.text.suggestions import did_you_mean

_OF_THE_WHOLE_STEP = {"FR108", "FR112", "FR115"}
"""Findings at a step, not at a key of it, that can follow from a key of the wrong shape."""
_JUDGED_TOGETHER = {"dispatch", "evidence", "gate", "questions"}
"""Keys of a step whose own keys depend on each other."""
_PART = ("steps", 0, "dispatch")
_OF_THE_GRAPH = {"FR103", "FR104", "FR108"}
"""Findings that can follow from a step that was left out."""


class ReadWorkflow(NamedTuple):
    """A workflow as far as a file gives one, its findings, and where a path of the definition is written."""

    definition: Workflow
    findings: tuple[Finding, ...]
    locate: Locate


def read(
    data: object,
    *,
    name: str,
    place: Locate,
    located: Callable[[Path], str] | None = None,
    origin: Locate | None = None,
    findings: tuple[Finding, ...] = (),
    has_code: bool = False,
    is_complete: bool = True,
) -> ReadWorkflow:
    """Return the workflow that *data*, a document's data, describes, with all findings.

    *name* is the workflow's address. *place* returns where a path of the document is written, *located* the same
    for texts that came from other files, *origin* the line in which a step or the workflow is made. *findings* are
    those of the caller. *has_code* allows functions. Unless *is_complete*, the graph is not validated.
    """
    if not isinstance(data, Mapping):
        remedy = "start with `name:` and `steps:`"
        finding = Finding("FR100", "error", "the file holds no mapping", remedy, place(()))
        return ReadWorkflow(Workflow(name, validate=False, origin=place(())), (finding,), place)
    reader = Reader(place=origin or place, has_code=has_code)
    workflow: Workflow = reader.part({**data, "name": name}, Workflow, ())
    if "name" not in data:
        reader.problems.append(DocumentProblem(("name",), "is missing", "add it"))
    problems = sorted(reader.problems, key=lambda problem: len(problem.path))
    found = [*findings, *first([(_finding(problem, place) for problem in problems)])]
    found += _misnamed(data.get("name"), name, place)

    def locate(path: Path) -> str:
        return (located or place)(_in_data(path, reader.positions))

    if is_complete:
        misshapen = {problem.path for problem in problems}
        reported = {(finding.code, finding.place) for finding in found}
        for raw in raw_findings(workflow):
            path = _in_data(raw.path, reader.positions)
            if (raw.code, place(path)) not in reported and not _follows(
                raw, path, misshapen, reader.positions
            ):
                found.append(raw.at(locate(raw.path)))
    return ReadWorkflow(workflow, tuple(in_order(found)), locate)


def _in_data(path: Path, positions: Mapping[Path, list[int]]) -> Path:
    """Return a path into the definition as a path into the data, in which no item is left out."""
    if not positions:
        return path
    written: Path = ()
    for part in path:
        kept = positions.get(written) if isinstance(part, int) else None
        written = (
            *written,
            kept[part] if kept is not None and isinstance(part, int) and part < len(kept) else part,
        )
    return written


def _misnamed(written: object, name: str, place: Locate) -> list[Finding]:
    if not isinstance(written, str) or written == name:
        return []
    what = f"the file says `name: {in_quotes(written)}` but stands for `{in_quotes(name)}`"
    usable = WORKFLOW_NAME.match(name)
    hint = f"write `name: {name}`, or rename the folder" if usable else f"rename the folder: {NAMES}"
    return [Finding("FR107", "error", what, hint, place(("name",)))]


def _follows(raw: Raw, path: Path, misshapen: set[Path], positions: Mapping[Path, Any]) -> bool:
    """Return whether a finding only follows from a value of the wrong shape, which is reported already."""
    if raw.code in _OF_THE_GRAPH and ("steps",) in positions:
        return True
    step_level = len(path) <= len(("steps", 0))
    if step_level and raw.code not in _OF_THE_WHOLE_STEP and path != ("steps",):
        return any(path[: len(wrong)] == wrong for wrong in misshapen)
    if len(path) > len(_PART) and path[2] in _JUDGED_TOGETHER:
        path = path[: len(_PART)]
    return any(path[: len(wrong)] == wrong or wrong[: len(path)] == path for wrong in misshapen)


def _finding(problem: DocumentProblem, place: Locate) -> Finding:
    path = problem.path
    name = in_quotes(".".join(str(part) for part in path)) or "the file"
    remedy = problem.remedy
    if problem.known:
        remedy = did_you_mean(str(path[-1]), problem.known, f"the keys here are {', '.join(problem.known)}")
    at = path[:-1] if problem.what == "is missing" else path
    return Finding("FR130", "error", f"`{name}` {problem.what}", remedy, place(at))
