"""Check a workflow: its errors, and warnings about what works but not as its author meant it."""

from __future__ import annotations

from flowrail.machines.checks.conditions import TRIED_RULES
from flowrail.machines.checks.data_flow import PATH_RULES
from flowrail.machines.checks.delegation import DELEGATION_ADVICE
from flowrail.machines.checks.evidence import EVIDENCE_ADVICE
from flowrail.machines.checks.loops import ROUND_RULES
from flowrail.machines.checks.prose import WORD_RULES
from flowrail.machines.definition.findings import Finding, Locate
from flowrail.machines.definition.validation import findings_of, origin_of, raw_findings
from flowrail.machines.definition.workflow import Workflow

ADVICE = (*PATH_RULES, *ROUND_RULES, *TRIED_RULES, *WORD_RULES, *DELEGATION_ADVICE, *EVIDENCE_ADVICE)
"""Rules that give warnings. They run in `flow check`, not when a workflow starts."""


def check_workflow(
    workflow: Workflow, *, locate: Locate | None = None, advice: bool = False
) -> list[Finding]:
    """Return everything that is wrong with *workflow*, in the order of its steps.

    *locate* turns a path into the document, such as ``("steps", 2, "next", "ok")``, into the place to
    print; by default that is the place where the step was made. With *advice*, also warnings, if there is no
    error.
    """
    where = locate or origin_of(workflow)
    found = [raw.at(where(raw.path)) for raw in raw_findings(workflow)]
    if advice and not any(finding.severity == "error" for finding in found):
        found += advise(workflow, where)
    return found


def advise(workflow: Workflow, where: Locate) -> list[Finding]:
    """Return warnings about *workflow*, which must have no errors."""
    found = findings_of(ADVICE, workflow)
    return [raw._replace(severity="warning").at(where(raw.path)) for raw in found]
