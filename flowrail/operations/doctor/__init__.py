"""Examine the whole set-up: facts, findings, and a remedy for each finding.

Nothing runs and nothing is written. An *error* is something that does not work as intended. A *warning* is something
that works, but may surprise.
"""

from __future__ import annotations

from collections import Counter

from flowrail.discovery.index import discover
from flowrail.operations.doctor.hooks import hooks_section
from flowrail.operations.doctor.installation import installation_section
from flowrail.operations.doctor.sessions import approvals, sessions
from flowrail.operations.doctor.skills import skill_sections
from flowrail.operations.environment import Environment


def diagnose(environment: Environment) -> dict[str, object]:
    """Return what `flow doctor` reports, as plain data: sections with facts, findings, and their counts."""
    discovery = discover(environment.cwd, environment.home, environment.environ, extra=environment.extra)
    sections = [
        installation_section(environment.environ),
        *skill_sections(discovery, environment),
        sessions(environment),
        approvals(discovery.places.usable, environment.state),
        hooks_section(environment),
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
