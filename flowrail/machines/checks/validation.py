"""The errors of a workflow, each with its path in the definition.

The checks rely on the types of the definition classes. In a file, values of another type are left out before the
checks run. In Python, a type checker finds them; if a check fails because of one, all of them are reported instead.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from flowrail.machines.checks.error_checks import ERRORS, GRAPH_ERRORS
from flowrail.machines.checks.table import findings_of
from flowrail.machines.findings import (
    Locate,
    Path,
    Place,
    UnplacedFinding,
    raise_errors,
    step_index,
)
from flowrail.machines.reader import type_findings

if TYPE_CHECKING:
    from flowrail.machines.workflow import Workflow

_OF_THE_GRAPH = {"FR103", "FR104", "FR108", "FR109", "FR114", "FR153", "FR158"}
"""Findings that can follow from a step that was left out, or from a transition that leads nowhere."""
_UNKNOWN_OUTCOME = "FR113"
_UNCLEAR = {"FR101", "FR102", "FR112", _UNKNOWN_OUTCOME}
_OF_TRANSITIONS = {"FR110", "FR112", "FR116", "FR117", "FR147", "FR148", "FR149"}
"""Findings that can follow from an unknown outcome in the same step."""
_OF_THE_STEP = {"FR108", "FR112", "FR115"}
"""Findings at a step, not at a key of it, that can follow from a key that was left out."""
_OF_VALUES = {"FR123"}
"""Findings that can follow from a wrong declaration of a parameter or fact."""
_KEY = 3
"""The length of the path of a key in a step."""


def raw_findings(workflow: Workflow) -> list[UnplacedFinding]:
    """Return every error in *workflow*, which may contain functions, in the order of its steps."""
    try:
        findings = findings_of(workflow, ERRORS, GRAPH_ERRORS)
    except (AttributeError, TypeError, ValueError, KeyError):
        findings = type_findings(workflow)
        if not findings:
            raise
        return sorted(findings, key=step_index)
    is_unclear = any(raw.code in _UNCLEAR for raw in findings)
    misspelt = {step_index(raw) for raw in findings if raw.code == _UNKNOWN_OUTCOME}
    return [
        raw
        for raw in findings
        if not (is_unclear and raw.code in _OF_THE_GRAPH)
        and not (step_index(raw) in misspelt and raw.code in _OF_TRANSITIONS)
    ]


def independent(
    findings: Iterable[UnplacedFinding], problems: Collection[UnplacedFinding], *, lacks_steps: bool
) -> Iterator[UnplacedFinding]:
    """Yield the *findings* about a file that do not only follow from values that were left out because of *problems*."""
    is_declared_wrong = any({"params", "reports"} & {*problem.path} for problem in problems)
    for raw in findings:
        of_graph = lacks_steps and raw.code in _OF_THE_GRAPH
        of_value = is_declared_wrong and raw.code in _OF_VALUES
        if not (of_graph or of_value or any(_follows(raw, problem) for problem in problems)):
            yield raw


def _follows(raw: UnplacedFinding, problem: UnplacedFinding) -> bool:
    """Return whether a finding is at or inside the key with a problem, or around it and about that it is missing."""
    key, wrong = raw.path[:_KEY], problem.path[:_KEY]
    if len(key) >= len(wrong):
        return key[: len(wrong)] == wrong
    return wrong[: len(key)] == key and (step_index(raw) < 0 or raw.code in _OF_THE_STEP)


def validate(workflow: Workflow) -> None:
    """Raise one `WorkflowError` with every finding of severity error."""
    locate = part_of(workflow)
    raise_errors(str(workflow.name), [raw.at(locate(raw.path)) for raw in raw_findings(workflow)])


def part_of(workflow: Workflow) -> Locate:
    """Return a function that names the part of a workflow made in Python, such as `look.next.ok`."""

    def locate(path: Path) -> Place:
        words = [str(part) for part in path]
        if len(path) > 1 and path[0] == "steps" and isinstance(path[1], int):
            words = [str(getattr(workflow.steps[path[1]], "id", path[1])), *words[2:]]
        return Place("", part=".".join(words))

    return locate
