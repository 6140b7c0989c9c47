"""The skills sections of `flow doctor`: locations, SKILL.md files, registry and workflows.

Each SKILL.md is read again with all its keys, which discovery does not need.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from flowrail.command import Command
from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import INFO, Note
from flowrail.discovery.index import Discovery
from flowrail.discovery.ranking.menu import remarks
from flowrail.discovery.registry.check import check as check_registry
from flowrail.discovery.scan.frontmatter import read_file
from flowrail.discovery.scan.spec import check
from flowrail.operations.doctor.section import Section, SetupFinding, short
from flowrail.operations.environment import Environment
from flowrail.operations.skills.check import check as check_workflows
from flowrail.skills.loader import Loader
from flowrail.text.phrases import count

_REPORTED_TWICE = frozenset({"NAME_DIFFERS"})
"""Reported by the codes of the open skill specification too."""
_SPECIFICATION = "FR168"
"""The finding of a workflow that repeats a note about its SKILL.md."""
_DIALECTS = {"v3": "v3", "v2": "v2", "v2+v3": "both", "": "the registry alone"}
_COLLISIONS = frozenset({"CLIENT_PREFERS_PERSONAL", "SAME_NAME"})


def skill_sections(discovery: Discovery, environment: Environment) -> Iterator[Section]:
    """Yield the sections about locations, skills, the registry and workflows."""
    yield _locations(discovery, environment)
    yield _files(discovery)
    yield _registry(discovery, environment)
    yield _workflows(replace(environment.loader, roots=discovery.places.usable), environment.cwd)


def _conformance(path: str) -> Sequence[Note]:
    try:
        front = read_file(path)
    except OSError:
        return []
    return check(front, folder=os.path.basename(os.path.dirname(path)), file=path)


def _locations(discovery: Discovery, environment: Environment) -> Section:
    places = discovery.places
    counts = Counter(skill.root for skill in (*discovery.candidates, *discovery.hidden))
    counts.update(
        skipped.root for skipped in discovery.skipped if skipped.is_skill and skipped.code != "SHADOWED"
    )
    facts = [
        f"{short(root.path, environment)} ({root.origin}): {root.problem or count(counts[root.path], 'skill')}"
        for root in places.roots
    ]
    if places.superproject:
        facts.append(f"a submodule of {short(places.superproject, environment)}")
    notes = [note for note in remarks(discovery) if note.code == "PLACE_UNUSABLE"]
    data = {
        "locations": [root.data() for root in places.roots],
        "git_root": places.git_root,
        "superproject": places.superproject,
    }
    return Section("locations", facts, list(_as_findings(notes)), data)


def _files(discovery: Discovery) -> Section:
    offered = (*discovery.candidates, *discovery.hidden)
    skills: list[Candidate | Skipped] = [
        *offered,
        *(skipped for skipped in discovery.skipped if skipped.is_skill),
    ]
    by_dialect = Counter(skill.dialect for skill in offered)
    ignored = Counter(skipped.code for skipped in discovery.skipped)
    facts = [
        f"{count(discovery.skills, 'folder')} with a SKILL.md",
        f"accept handoffs: {len(discovery.candidates)}; hidden by a nearer folder: {len(discovery.hidden)} more",
    ]
    if by_dialect:
        dialects = ", ".join(
            f"{many} {_DIALECTS.get(dialect, dialect)}" for dialect, many in by_dialect.items()
        )
        facts.append(f"dialects: {dialects}")
    if ignored:
        codes = ", ".join(f"{many} {code}" for code, many in ignored.items())
        facts.append(f"not offered for handoffs: {codes}; see why: {Command('discover', all=True)}")
    notes = [
        *(
            _as_note(skipped)
            for skipped in discovery.skipped
            if skipped.severity != INFO and skipped.path != discovery.registry.path
        ),
        *(note for note in discovery.notes if note.code in _COLLISIONS),
        *(note for skill in skills for note in skill.notes if note.code not in _REPORTED_TWICE),
        *(note for path in dict.fromkeys(skill.path for skill in skills) for note in _conformance(path)),
    ]
    data = {
        "skills": discovery.skills,
        "accepting": len(discovery.candidates),
        "hidden": len(discovery.hidden),
        "dialects": dict(by_dialect),
        "skipped": dict(ignored),
    }
    return Section("skills", facts, list(_as_findings(notes)), data)


def _registry(discovery: Discovery, environment: Environment) -> Section:
    registry = discovery.registry
    if not registry.exists:
        facts = [f"none at {short(registry.path, environment)}; it is optional"]
        return Section("registry", facts, [], {"path": registry.path, "exists": False, "workflows": 0})
    facts = [f"{short(registry.path, environment)}: {count(len(registry.entries), 'workflow')}"]
    data = {"path": registry.path, "exists": True, "workflows": len(registry.entries)}
    return Section("registry", facts, list(_as_findings(check_registry(discovery))), data)


def _as_note(skipped: Skipped) -> Note:
    return Note(skipped.code, skipped.reason, skipped.path, skipped.line)


def _as_findings(notes: Iterable[Note]) -> Iterator[SetupFinding]:
    """Yield each note once: discovery and the specification may report the same finding."""
    for note in {(note.code, note.place, note.reason): note for note in notes}.values():
        yield SetupFinding(note.code, note.severity, note.reason, str(note.hint), note.place)


def _workflows(loader: Loader, cwd: str) -> Section:
    reports = check_workflows((), loader, cwd)
    findings = [
        SetupFinding(
            finding.code,
            finding.severity,
            finding.message,
            finding.remedy,
            f"{report.path}/{finding.place}",
            finding.step,
        )
        for report in reports
        for finding in report.findings
        if finding.code != _SPECIFICATION
    ]
    workflows = sum(report.is_workflow and not report.needs_approval for report in reports)
    facts = [f"{count(workflows, 'workflow')} checked: {count(len(findings), 'finding')}"]
    return Section("workflows", facts, findings, {"checked": [report.address for report in reports]})
