"""Read a workflow from a YAML file."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.errors import DocumentError
from flowrail.machines.findings import Finding, Path, Place, UnplacedFinding
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.step_texts import position_in
from flowrail.machines.loading.written_workflow import WrittenWorkflow
from flowrail.machines.reader import read_workflow
from flowrail.machines.step import NAMES, WORKFLOW_NAME
from flowrail.text.safe_text import in_quotes
from flowrail.text.yaml import load


def read_yaml(data: bytes, file: WorkflowFile) -> WrittenWorkflow:
    """Return the workflow that a YAML document describes, and what is wrong with the document."""
    try:
        document = load(data, source=file.path, all_problems=True)
    except DocumentError as error:
        finding = Finding("FR100", "error", error.fact, str(error.hint), Place.of(error.place))
        return WrittenWorkflow([finding], lambda _: finding.place)

    def place(path: Path) -> Place:
        line, column = document.position(path)
        last = path[-1] if path else None
        if isinstance(last, str) and last.startswith("$"):  # a placeholder, in the text at that position
            lines = data.decode().removeprefix("\ufeff").split("\n")[line - 1 :]
            below, inside = position_in("\n".join(lines)[column - 1 :], (last,))
            if inside:
                line, column = line + below - 1, inside + (column - 1 if below == 1 else 0)
        return Place(file.path, line, column)

    findings = [
        Finding(
            *("FR131" if problem.is_duplicate else "FR130", "error", problem.fact, problem.hint),
            Place(file.path, problem.line),
        )
        for problem in document.problems
    ]
    values, address = document.value, file.address
    if not isinstance(values, Mapping):
        remedy = "start with `name:` and `steps:`"
        finding = Finding("FR100", "error", "the file does not contain a mapping", remedy, place(()))
        return WrittenWorkflow([*findings, finding], place)
    name = values.get("name", address)
    if "name" not in values:
        findings.append(UnplacedFinding("FR130", (), "`name` is missing", "add it").at(place(())))
    read_part = read_workflow({**values, "name": address})
    problems = read_part.problems
    if isinstance(name, str) and name != address:
        message = f"the file says `name: {in_quotes(name)}` but its path says `{in_quotes(address)}`"
        usable = WORKFLOW_NAME.match(address)
        hint = f"write `name: {address}`, or rename the folder" if usable else f"rename the folder: {NAMES}"
        problems.append(UnplacedFinding("FR107", ("name",), message, hint))
    return WrittenWorkflow(findings, place, read_part.workflow, tuple(problems), read_part.unread)
