"""Examine the whole set-up: what there is, what is wrong, and what to do about it.

Nothing runs and nothing is written. An *error* does not work as its author meant it; a *warning* works, but may
surprise.
"""

from __future__ import annotations

from collections import Counter

from flowrail.discovery.index import discover
from flowrail.operations.doctor.hooks import hooks_section
from flowrail.operations.doctor.installation import installation_section
from flowrail.operations.doctor.sessions import approvals, sessions
from flowrail.operations.doctor.skills import skill_sections
from flowrail.operations.environment import Environment


def diagnose(here: Environment) -> dict[str, object]:
    """Return what `flow doctor` reports, as plain data: sections with facts, findings, and their counts."""
    found = discover(here.cwd, here.home, here.environ, extra=here.extra)
    sections = [
        installation_section(here.environ),
        *skill_sections(found, here),
        sessions(here),
        approvals(found.places.usable, here.state),
        hooks_section(here),
    ]
    findings = [
        {"section": section.name, **finding._asdict()} for section in sections for finding in section.findings
    ]
    counts = Counter(finding["severity"] for finding in findings)
    return {
        "ok": not counts["error"],
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": findings,
        "sections": {section.name: {"facts": list(section.facts), **section.data} for section in sections},
    }
