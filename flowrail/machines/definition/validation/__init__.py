"""The validation of `Workflow(...)`: every error in a workflow, with its path in the definition.

Values of the wrong shape come first. The rules run on the workflow without those values, so they can rely on the
types of the definition classes. The code that read the workflow turns a path into a file and a line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import MISSING
from typing import TYPE_CHECKING

from flowrail.machines.definition.findings import Locate, Path, Place, UnplacedFinding, first, raise_errors
from flowrail.machines.definition.from_data import Reader
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.validation import delegation, evidence, structure, values
from flowrail.machines.definition.validation.scope import findings_of, step_index
from flowrail.machines.definition.validation.shape import independent, shape_finding

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Workflow

_WORKFLOW_RULES = (*structure.WORKFLOW_RULES, *values.WORKFLOW_RULES, *evidence.WORKFLOW_RULES)
_STEP_RULES = (
    *structure.STEP_RULES,
    *values.STEP_RULES,
    *delegation.STEP_RULES,
    *evidence.STEP_RULES,
)


def raw_findings(workflow: Workflow) -> list[UnplacedFinding]:
    """Return every error in *workflow*, which may contain functions, in the order of its steps."""
    reader = Reader(has_code=True)
    readable = reader.part(workflow, type(workflow), ())
    is_readable = readable is not MISSING  # it is not without a name
    found = findings_of_reader(reader, readable if is_readable else workflow, rules=is_readable)
    return sorted(found, key=step_index)


def findings_of_reader(
    reader: Reader, workflow: Workflow, *, rules: bool = True
) -> Iterator[UnplacedFinding]:
    """Yield the problems of *reader* and, with *rules*, the errors of the *workflow* that it read; paths are in the data."""
    problems = sorted(reader.problems, key=lambda problem: len(problem.path))
    ids = dict(zip(reader.steps_read, (step.id for step in workflow.steps), strict=False))
    for raw in first([(shape_finding(problem, ids) for problem in problems)]):
        yield raw._replace(step=ids.get(step_index(raw)))
    if rules:
        findings = findings_of(workflow, _WORKFLOW_RULES, _STEP_RULES)
        yield from independent(findings, problems, reader.steps_read)


def validate(workflow: Workflow) -> None:
    """Raise one `WorkflowError` with every finding of severity error."""
    locate = origin_of(workflow)
    raise_errors(workflow.name, [raw.at(locate(raw.path)) for raw in raw_findings(workflow)])


def origin_of(workflow: Workflow) -> Locate:
    """Return a function that turns a path into the place where the step, or the workflow, was made."""

    def locate(path: Path) -> Place:
        words = ".".join(str(part) for part in path)
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
            step = workflow.written_steps[path[1]]
            if isinstance(step, StepDef):
                inside = ".".join([step.id, *(str(part) for part in path[2:])])
                return Place.of(step.origin or "")._replace(part=inside)
        return Place.of(workflow.origin or "")._replace(part=words)

    return locate
