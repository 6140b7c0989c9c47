"""What `Workflow(...)` validates: every error in a workflow, with its path into the definition.

Values of the wrong shape come first. Each rule is one generator over the workflow without those values. The code
that read the workflow turns a path into a file and a line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import MISSING
from typing import TYPE_CHECKING

from flowrail.machines.definition.findings import Locate, Path, Place, UnplacedFinding, first, raise_errors
from flowrail.machines.definition.from_data import Reader
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.validation.delegation import DELEGATION_RULES
from flowrail.machines.definition.validation.evidence import EVIDENCE_RULES
from flowrail.machines.definition.validation.shape import independent, path_in_data, shape_finding
from flowrail.machines.definition.validation.structure import STRUCTURE_RULES
from flowrail.machines.definition.validation.values import VALUE_RULES

if TYPE_CHECKING:
    from flowrail.machines.definition.workflow import Workflow

Rule = Callable[["Workflow"], Iterable[UnplacedFinding]]
RULES: tuple[Rule, ...] = (*STRUCTURE_RULES, *VALUE_RULES, *DELEGATION_RULES, *EVIDENCE_RULES)


def raw_findings(workflow: Workflow) -> list[UnplacedFinding]:
    """Return every error in *workflow*, a workflow that may be written in code, in the order of its steps."""
    reader = Reader(has_code=True)
    readable = reader.part(workflow, type(workflow), ())
    if not reader.problems:
        return rule_findings(workflow)
    found = [shape_finding(problem) for problem in reader.problems]
    if readable is not MISSING:
        rest = independent(rule_findings(readable), reader.problems, reader.positions)
        found += [raw._replace(path=path_in_data(raw.path, reader.positions)) for raw in rest]
    return sorted(found, key=in_step_order)


def rule_findings(workflow: Workflow) -> list[UnplacedFinding]:
    """Return every error in *workflow*, whose values have the right shapes, in the order of its steps."""
    return findings_of(RULES, workflow)


def findings_of(rules: Iterable[Rule], workflow: Workflow) -> list[UnplacedFinding]:
    """Return what *rules* find in *workflow*, in the order of its steps, each with the id of its step."""
    found = sorted(first(rule(workflow) for rule in rules), key=in_step_order)
    ids = [step.id for step in workflow.steps] + [None]  # the last one for what is about the workflow
    return [raw._replace(step=ids[in_step_order(raw)]) for raw in found]


def validate(workflow: Workflow) -> None:
    """Raise one `WorkflowError` with every finding of severity error."""
    locate = origin_of(workflow)
    raise_errors(workflow.name, [raw.at(locate(raw.path)) for raw in raw_findings(workflow)])


def in_step_order(raw: UnplacedFinding) -> int:
    """Return the index of the step that *raw* is about; -1 if it is about the workflow."""
    return raw.path[1] if len(raw.path) > 1 and isinstance(raw.path[1], int) else -1


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
