"""Read one workflow file of a skill's folder, with the texts that it names and quotes, and list all its findings."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from flowrail.machines.checks.validation import independent, part_of, raw_findings
from flowrail.machines.findings import (
    Finding,
    Locate,
    Path,
    Place,
    WorkflowError,
    errors_in,
    in_order,
    in_steps,
    raise_errors,
)
from flowrail.machines.frozen import Frozen, put
from flowrail.machines.loading import python_file
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.loading.step_texts import SkillTexts
from flowrail.machines.loading.written_workflow import WrittenWorkflow
from flowrail.machines.loading.yaml_file import read_yaml
from flowrail.machines.workflow import Workflow
from flowrail.storage.files import sha256_hex


@dataclass(frozen=True)
class LoadedWorkflow:
    """A workflow that was read from a skill's folder, as complete as its file allows, with its findings."""

    definition: Workflow
    find: Callable[[], Iterable[Finding]]
    """Looks for what is wrong."""
    locate: Locate
    """Returns where a path of the definition is written."""
    files: Mapping[str, bytes] = Frozen()
    """The content of each file that was read."""

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What is wrong. A command that does not ask for it takes less time."""
        return tuple(in_order(self.find()))

    @property
    def errors(self) -> list[Finding]:
        """The findings because of which no session may start."""
        return errors_in(self.findings)

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each file."""
        return {path: sha256_hex(data) for path, data in self.files.items()}

    def workflow(self) -> Workflow:
        """Return the validated workflow; `WorkflowError` with every error if there are any."""
        raise_errors(self.definition.name, self.findings)
        put(self.definition, is_checked=True)
        return self.definition


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
    written = (_run_python if file.is_python else read_yaml)(texts.data(file.path), file)
    workflow = texts.complete(written.workflow or Workflow(file.address, validate=False))

    def locate(path: Path) -> Place:
        return texts.place(path) or written.place(path)

    def find() -> Iterator[Finding]:
        yield from written.findings
        if written.workflow is not None:
            steps = enumerate(workflow.steps)
            step_ids = [None if index in written.unread else step.id for index, step in steps]
            problems = [*in_steps((*written.problems, *texts.problems), step_ids)]
            wrong = [raw for raw in problems if raw.path]
            others = independent(raw_findings(workflow), wrong, lacks_steps=bool(written.unread))
            yield from (raw.at(locate(raw.path)) for raw in (*problems, *others))

    definition = workflow.changed(folder=file.folder, provider=None)
    return LoadedWorkflow(definition, find, locate, texts.files)


def _run_python(data: bytes, file: WorkflowFile) -> WrittenWorkflow:
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
        return WrittenWorkflow(findings, lambda _: Place(file.path))

    def place(path: Path) -> Place:
        is_in_step = len(path) > 1 and path[0] == "steps"
        step_id = workflow.steps[int(path[1])].id if is_in_step else None
        return place_of(step_id, part_of(workflow)(path).part)

    return WrittenWorkflow([], place, workflow)
