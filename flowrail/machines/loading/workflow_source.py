"""Read one workflow file of a skill's folder, with the texts that it names and quotes, and list all its findings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from flowrail.errors import DocumentError
from flowrail.machines.checks.validation import independent, part_of, raw_findings
from flowrail.machines.findings import (
    Finding,
    Locate,
    Path,
    Place,
    UnplacedFinding,
    WorkflowError,
    in_order,
    raise_errors,
    step_index,
)
from flowrail.machines.frozen import Frozen, put
from flowrail.machines.loading import python_file
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.step_texts import SkillTexts, position_in
from flowrail.machines.step import NAMES, WORKFLOW_NAME
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import sha256_hex
from flowrail.text.safe_text import in_quotes


@dataclass(frozen=True)
class LoadedWorkflow:
    """A workflow that was read from a skill's folder, as complete as its file allows, with its findings."""

    definition: Workflow
    findings: tuple[Finding, ...]
    locate: Locate
    """Returns where a path of the definition is written."""
    files: Mapping[str, bytes] = Frozen()
    """The content of each file that was read."""

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each file."""
        return {path: sha256_hex(data) for path, data in self.files.items()}

    def workflow(self) -> Workflow:
        """Return the validated workflow; `WorkflowError` with every error if there are any."""
        raise_errors(self.definition.name, self.findings)
        put(self.definition, is_checked=True)
        return self.definition


@dataclass(frozen=True)
class _Written:
    """What a file defines, before the texts that it names are read."""

    findings: list[Finding]
    """What is wrong with the file."""
    place: Locate
    """Returns where a path is written in the file."""
    workflow: Workflow | None = None
    """`None` if nothing of it can be read."""
    problems: tuple[UnplacedFinding, ...] = ()
    """Values of the wrong form, which the workflow does not have."""
    unread: frozenset[int] = frozenset()
    """The positions of the steps of the wrong form. Another step is in the place of each."""


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
    written = (_run_python if file.is_python else _read_yaml)(texts.data(file.path), file)
    workflow, findings = Workflow(file.address, validate=False), written.findings

    def locate(path: Path) -> Place:
        return texts.place(path) or written.place(path)

    if written.workflow is not None:
        workflow = texts.complete(written.workflow)
        problems = [
            raw
            if step_index(raw) in {-1, *written.unread}
            else replace(raw, step=workflow.steps[step_index(raw)].id)
            for raw in (*written.problems, *texts.problems)
        ]
        wrong = [raw for raw in problems if raw.path]
        others = [*independent(raw_findings(workflow), wrong, lacks_steps=bool(written.unread))]
        findings = [*findings, *(raw.at(locate(raw.path)) for raw in (*problems, *others))]
    return LoadedWorkflow(
        workflow.changed(folder=file.folder, provider=None), tuple(in_order(findings)), locate, texts.files
    )


def _run_python(data: bytes, file: WorkflowFile) -> _Written:
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
        return _Written(findings, lambda _: Place(file.path))

    def place(path: Path) -> Place:
        is_in_step = len(path) > 1 and path[0] == "steps"
        step_id = workflow.steps[int(path[1])].id if is_in_step else None
        return place_of(step_id, part_of(workflow)(path).part)

    return _Written([], place, workflow)


def _read_yaml(data: bytes, file: WorkflowFile) -> _Written:
    """Return the workflow that a YAML document describes, and what is wrong with the document."""
    from flowrail.machines.reader import read_workflow  # pydantic takes as long as a step
    from flowrail.text.yaml import load  # a step of a running session reads no YAML

    try:
        document = load(data, source=file.path, all_problems=True)
    except DocumentError as error:
        finding = Finding("FR100", "error", error.fact, str(error.hint), Place.of(error.place))
        return _Written([finding], lambda _: finding.place)

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
        return _Written([*findings, finding], place)
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
    return _Written(findings, place, read_part.workflow, tuple(problems), read_part.unread)
