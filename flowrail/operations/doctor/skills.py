"""The skills sections of `flow doctor`: locations, SKILL.md files, registry and workflows.

Each SKILL.md is read again with all its keys, which discovery does not need.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

from flowrail.command import Command
from flowrail.discovery.candidate import LeftOut
from flowrail.discovery.frontmatter import read_file
from flowrail.discovery.index import Discovery, unusable
from flowrail.discovery.registry_sync import plan
from flowrail.discovery.scan import FoundSkill
from flowrail.discovery.specification import departures
from flowrail.operations.doctor.section import Section, SetupFinding, short
from flowrail.operations.environment import Environment
from flowrail.operations.skills.check import check as check_workflows
from flowrail.skills.loader import Loader
from flowrail.text.phrases import count, joined

_SPECIFICATION = "FR168"
"""The finding of a workflow that repeats an issue of its SKILL.md."""


def skill_sections(discovery: Discovery, environment: Environment) -> Iterator[Section]:
    """Yield the sections about locations, skills, the registry and workflows."""
    yield _locations(discovery, environment)
    yield _files(discovery)
    yield _registry(discovery, environment)
    yield _workflows(replace(environment.loader, roots=discovery.places.usable), environment.cwd)


def _locations(discovery: Discovery, environment: Environment) -> Section:
    places = discovery.places
    counts = Counter(skill.root.path for skill in discovery.found)
    facts = [
        f"{short(root.path, environment)} ({root.origin}): {root.problem or count(counts[root.path], 'skill')}"
        for root in places.roots
    ]
    if places.superproject:
        facts.append(f"a submodule of {short(places.superproject, environment)}")
    findings = [
        SetupFinding("PLACE_UNUSABLE", "error", root.problem, "check the path and its permissions", root.path)
        for root in unusable(places)
    ]
    data = {
        "locations": [root.data() for root in places.roots],
        "git_root": places.git_root,
        "superproject": places.superproject,
    }
    return Section("locations", facts, findings, data)


def _files(discovery: Discovery) -> Section:
    left_out = Counter(skipped.kind.value for skipped in discovery.skipped)
    facts = [
        f"{count(discovery.skills, 'folder')} with a SKILL.md",
        f"accept handoffs: {len(discovery.candidates)}",
    ]
    if left_out:
        kinds = ", ".join(f"{many} {kind}" for kind, many in left_out.items())
        facts.append(f"left out: {kinds}; see why: {Command('discover', all=True)}")
    findings = [
        SetupFinding(
            "SKILL_LEFT_OUT",
            "error" if skipped.kind is LeftOut.MALFORMED else "warning",
            f"`{skipped.skill}` cannot take over work: {skipped.reason}",
            "fix its SKILL.md",
            skipped.place,
        )
        for skipped in discovery.skipped
        if skipped.is_wrong and skipped.path != discovery.registry.path
    ]
    for skill in discovery.found:
        findings += _departures(skill)
    data = {"skills": discovery.skills, "accepting": len(discovery.candidates)}
    return Section("skills", facts, findings, data)


def _departures(skill: FoundSkill) -> Iterator[SetupFinding]:
    try:
        front = read_file(skill.path)
    except OSError:
        return
    for issue in departures(front, skill.skill):
        if not front.problem:  # reported already
            place = f"{skill.path}:{issue.line}" if issue.line else skill.path
            yield SetupFinding(_SPECIFICATION, issue.severity, issue.reason, issue.hint, place)


def _registry(discovery: Discovery, environment: Environment) -> Section:
    registry = discovery.registry
    facts = [f"none at {short(registry.path, environment)}; it is optional"]
    if registry.exists:
        facts = [f"{short(registry.path, environment)}: {count(len(registry.entries), 'workflow')}"]
    hint = "fix the registry, or remove it: it is optional"
    findings = [
        SetupFinding("REGISTRY_INVALID", "error", problem.reason, hint, f"{registry.path}:{problem.line}")
        for problem in registry.problems
    ]
    findings += [
        SetupFinding(
            "REGISTRY_STALE",
            "warning",
            skipped.reason,
            "remove the entry, or correct its `skill_path`",
            skipped.place,
        )
        for skipped in discovery.skipped
        if skipped.path == registry.path and skipped.kind is not LeftOut.HIDDEN
    ]
    if registry.exists and not registry.problems:
        planned = plan(discovery, home=environment.home, now=datetime.fromisoformat(environment.now)).sync
        if planned.changes:
            message = f"not up to date for {joined([*planned.added, *planned.updated])}"
            findings.append(
                SetupFinding(
                    "REGISTRY_DIFFERS", "warning", message, str(Command("registry sync")), registry.path
                )
            )
    data = {"path": registry.path, "exists": registry.exists, "workflows": len(registry.entries)}
    return Section("registry", facts, findings, data)


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
