"""Examine the whole set-up: facts, findings, and a remedy for each finding.

Nothing runs and nothing is written. An *error* is something that does not work as intended. A *warning* is something
that works, but may surprise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flowrail.discovery.index import discover
from flowrail.formatters.reports import doctor as doctor_page
from flowrail.operations.doctor.hooks import hooks_section
from flowrail.operations.doctor.installation import installation_section
from flowrail.operations.doctor.sessions import approvals, sessions
from flowrail.operations.doctor.skills import skill_sections
from flowrail.operations.environment import Environment
from flowrail.operations.operation import operation
from flowrail.text.report import Report


@dataclass(frozen=True)
class Diagnosis:
    """What an examination of the set-up found."""

    ok: bool
    """Whether no finding is an error."""
    errors: int
    """How many findings are errors."""
    warnings: int
    """How many findings are warnings."""
    findings: Sequence[Mapping[str, object]]
    """The findings, each with its section, code, severity, message, remedy and place."""
    sections: Mapping[str, Mapping[str, object]]
    """The facts of each section."""

    @property
    def exit_status(self) -> int:
        """1 if there is an error."""
        return 0 if self.ok else 1

    def report(self) -> Report:
        """Return what a person reads."""
        return doctor_page.report(self.sections, self.findings, self.errors, self.warnings)


@operation("doctor", "flow doctor")
def diagnose(environment: Environment) -> Diagnosis:
    """Examine the whole set-up and say what to fix

    Locations and files of skills, collisions, dialects, workflows, hosts and their hooks, sessions,
    approvals, versions. Nothing runs and nothing is written. Exits 1 if there is an error.
    """
    discovery = discover(environment.cwd, environment.home, environment.environ, extra=environment.extra)
    sections = [
        installation_section(environment.environ),
        *skill_sections(discovery, environment),
        sessions(environment),
        approvals(discovery.places.usable, environment.project, environment.state),
        hooks_section(environment),
    ]
    findings = [
        {"section": section.name, **finding._asdict()} for section in sections for finding in section.findings
    ]
    counts = Counter(finding["severity"] for finding in findings)
    return Diagnosis(
        not counts["error"],
        counts["error"],
        counts["warning"],
        findings,
        {section.name: {"facts": list(section.facts), **section.data} for section in sections},
    )
