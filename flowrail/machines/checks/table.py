"""One walk over the parts of a workflow, which gives each part to the checks of its kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from flowrail.machines.checks.scope import Scope
from flowrail.machines.findings import Path, UnplacedFinding, first, in_steps, step_index
from flowrail.machines.parts import Part, parts_of

if TYPE_CHECKING:
    from flowrail.machines.workflow import Workflow

Rows = Iterator[tuple[str, ...]]
"""What is wrong: the code, the key in the part (several are parted by slashes, empty for the part itself), the message,
and if the code does not say it, what to do. A severity may follow that is not the code's."""
Check = Callable[[Part, Scope], Rows]
"""Looks at one part of a workflow."""
Analysis = Callable[[Scope], Iterable[UnplacedFinding]]
"""Looks at the whole workflow."""


def findings_of(
    workflow: Workflow, checks: Mapping[object, Sequence[Check]], analyses: Sequence[Analysis]
) -> list[UnplacedFinding]:
    """Return the findings about *workflow*, in the order of its steps, each with the id of its step.

    *checks* are listed by the kind of part that they look at.
    """
    scope = Scope(workflow)
    of_parts = (
        finding
        for part in parts_of(workflow)
        for check in checks.get(part.kind, ())
        for finding in _findings(check(part, scope), part.path)
    )
    findings = first([of_parts, *(analysis(scope) for analysis in analyses)])
    return [*in_steps(sorted(findings, key=step_index), [step.id for step in workflow.steps])]


def _findings(rows: Rows, path: Path) -> Iterator[UnplacedFinding]:
    """Yield what a check found in the part at *path*."""
    for code, at, message, *rest in rows:
        keys = (int(key) if key.isdecimal() else key for key in at.split("/") if key)
        remedy, severity = [*rest, "", ""][:2]
        yield UnplacedFinding(code, (*path, *keys), message, remedy, severity=severity)
