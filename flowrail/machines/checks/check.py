"""Check a workflow: its errors and warnings, each with its place. A step needs none of this."""

from __future__ import annotations

from flowrail.machines.checks.table import findings_of
from flowrail.machines.checks.validation import part_of, raw_findings
from flowrail.machines.checks.warning_checks import GRAPH_WARNINGS, WARNINGS
from flowrail.machines.findings import Finding, Locate, errors_in, step_index
from flowrail.machines.reader import type_findings
from flowrail.machines.workflow import Workflow


def check(workflow: Workflow, *, locate: Locate | None = None, advice: bool = False) -> list[Finding]:
    """Return the findings about *workflow*, in the order of its steps.

    *locate* turns a path into the document, such as ``("steps", 2, "next", "ok")``, into the place to
    print. The default is the place where the step was made. With *advice*, warnings are included if there is
    no error.
    """
    where = locate or part_of(workflow)
    raws = sorted(type_findings(workflow), key=step_index) or raw_findings(workflow)
    findings = [raw.at(where(raw.path)) for raw in raws]
    if advice and not errors_in(findings):
        findings += advise(workflow, where)
    return findings


def advise(workflow: Workflow, where: Locate) -> list[Finding]:
    """Return warnings about *workflow*, which must have no errors, and its broken order rules."""
    return [raw.at(where(raw.path)) for raw in findings_of(workflow, WARNINGS, GRAPH_WARNINGS)]
