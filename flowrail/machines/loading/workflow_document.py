"""The data of a workflow file, YAML or Python, as a workflow with everything that is wrong with it.

A value of the wrong shape is left out and reported; the rest is validated. Findings that only follow from a value
that was left out are not reported.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.machines.definition.findings import Finding, Locate, Path, Place, first, in_order
from flowrail.machines.definition.from_data import DocumentProblem, PythonCall, Reader
from flowrail.machines.definition.step import NAMES, WORKFLOW_NAME
from flowrail.machines.definition.validation import rule_findings
from flowrail.machines.definition.validation.shape import independent, path_in_data, shape_finding
from flowrail.machines.definition.workflow import Workflow
from flowrail.text.safe_text import in_quotes


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
    located: Locate | None = None,
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
        finding = Finding("FR100", "error", "the file does not contain a mapping", remedy, place(()))
        return ReadWorkflow(Workflow(name, validate=False, origin=str(place(()))), (finding,), place)
    reader = Reader(place=origin or place, has_code=has_code)
    renamed = {**data, "name": name}
    workflow: Workflow = reader.part(PythonCall(Workflow, renamed) if has_code else renamed, Workflow, ())
    if "name" not in data:
        reader.problems.append(DocumentProblem(("name",), "is missing", "add it"))
    problems = sorted(reader.problems, key=lambda problem: len(problem.path))
    shapes = first([(shape_finding(problem) for problem in problems)])
    found = [*findings, *(raw.at(place(raw.path)) for raw in shapes)]
    found += _misnamed(data.get("name"), name, place)

    def locate(path: Path) -> Place:
        return (located or place)(path_in_data(path, reader.positions))

    if is_complete:
        reported = {(finding.code, finding.place) for finding in found}
        for raw in independent(rule_findings(workflow), problems, reader.positions):
            if (raw.code, place(path_in_data(raw.path, reader.positions))) not in reported:
                found.append(raw.at(locate(raw.path)))
    return ReadWorkflow(workflow, tuple(in_order(found)), locate)


def _misnamed(written: object, name: str, place: Locate) -> list[Finding]:
    if not isinstance(written, str) or written == name:
        return []
    what = f"the file says `name: {in_quotes(written)}` but its address is `{in_quotes(name)}`"
    usable = WORKFLOW_NAME.match(name)
    hint = f"write `name: {name}`, or rename the folder" if usable else f"rename the folder: {NAMES}"
    return [Finding("FR107", "error", what, hint, place(("name",)))]
