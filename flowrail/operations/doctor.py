"""Examine the whole set-up: facts, findings, and a remedy for each finding.

Nothing is written. An *error* is something that does not work as intended. A *warning* is something that works, but may
surprise.
"""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from flowrail import __version__
from flowrail.command import Command
from flowrail.discovery.candidate import LeftOut
from flowrail.discovery.index import discover, unusable
from flowrail.errors import DocumentError, FlowError, StorageError
from flowrail.hosts.host import HOSTS, Host
from flowrail.hosts.settings import read_settings
from flowrail.operations.board import FOREIGN, Group, list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.operation import operation
from flowrail.operations.skills.skill_check import check as check_workflows
from flowrail.operations.skills.trust import waiting_skills
from flowrail.text.phrases import count
from flowrail.text.report import FilePath, Report, Span, Style, line, paragraphs, short_path, status, title
from flowrail.text.safe_text import shortened


@dataclass(frozen=True)
class SetupFinding:
    """One finding about the set-up."""

    code: str
    """Its stable code."""
    severity: str
    """`error` or `warning`."""
    message: str
    """What is wrong."""
    remedy: str
    """What to do."""
    place: str = ""
    """The file, folder or session; may be empty."""
    step: str | None = None
    """The step of a workflow, if it is about one."""


@dataclass(frozen=True)
class Section:
    """One part of the set-up."""

    name: str
    """Its name."""
    facts: Sequence[str]
    """What was found, in sentences."""
    findings: Sequence[SetupFinding]
    """What is wrong or may surprise."""

    def report(self) -> Report:
        """Return what a person reads."""
        yield title(self.name)
        yield from (f"  {shortened(fact, 400)}" for fact in self.facts)
        for finding in self.findings:
            place = (" (", FilePath(finding.place), ")") if finding.place else ()
            yield line(
                "  ", status(finding.severity), f" {finding.code}: {shortened(finding.message)}", *place
            )
            yield f"      = {shortened(finding.remedy)}"


@dataclass(frozen=True)
class Diagnosis:
    """What an examination of the set-up found."""

    errors: int
    """How many findings are errors."""
    warnings: int
    """How many findings are warnings."""
    sections: Sequence[Section]
    """The parts of the set-up, each with its findings."""

    @property
    def exit_status(self) -> int:
        """1 if there is an error."""
        return 1 if self.errors else 0

    def report(self) -> Report:
        """Return what a person reads."""
        verdict = Span("nothing is wrong.", Style.GOOD)
        if self.errors or self.warnings:
            style = Style.BAD if self.errors else Style.WARNING
            verdict = Span(f"{count(self.errors, 'error')}, {count(self.warnings, 'warning')}.", style)
        return paragraphs(*(section.report() for section in self.sections), [line(verdict)])


@operation("doctor", "flow doctor")
def diagnose(environment: Environment) -> Diagnosis:
    """Examine the whole set-up and say what to fix

    Locations and files of skills, the registry, workflows, sessions, approvals, hosts and their hooks, versions. Nothing
    is written. Exits 1 if there is an error.
    """
    examinations: dict[str, Callable[[Environment], Iterator[str | SetupFinding]]] = {
        "installation": _installation,
        "skills": _skills,
        "workflows": _workflows,
        "sessions": _sessions,
        "hooks": _hooks,
    }
    sections = []
    for name, examine in examinations.items():
        found = list(examine(environment))
        facts = [fact for fact in found if isinstance(fact, str)]
        sections.append(Section(name, facts, [each for each in found if isinstance(each, SetupFinding)]))
    severities = Counter(finding.severity for section in sections for finding in section.findings)
    return Diagnosis(severities["error"], severities["warning"], sections)


# Each examination yields facts as texts, and findings.


def _installation(environment: Environment) -> Iterator[str | SetupFinding]:
    yield f"flowrail {__version__}, Python {sys.version.split()[0]} ({sys.executable})"
    path = shutil.which("flow", path=environment.environ.get("PATH", os.defpath))
    yield f"`flow` is {path or 'not on PATH'}"
    if path is None:
        message = "`flow` is not on PATH, and every printed command begins with it"
        remedy = f"add {sysconfig.get_path('scripts')} to PATH"
        yield SetupFinding("FLOW_NOT_ON_PATH", "error", message, remedy)


def _skills(environment: Environment) -> Iterator[str | SetupFinding]:
    """Say which folders are searched, and which skills and entries of the registry cannot be used."""
    discovery = discover(environment.cwd, environment.home, environment.environ, extra=environment.extra)
    counts = Counter(skill.root.path for skill in discovery.found)
    for root in discovery.places.roots:
        found = root.problem or count(counts[root.path], "skill")
        yield f"{_short(root.path, environment)} ({root.origin}): {found}"
    for root in unusable(discovery.places):
        remedy = "check the path and its permissions"
        yield SetupFinding("PLACE_UNUSABLE", "error", root.problem, remedy, root.path)
    if discovery.skipped:
        yield f"{len(discovery.skipped)} left out of handoffs; see why: {Command('discover', all=True)}"
    for skipped in discovery.skipped:
        if skipped.is_wrong:
            severity = "error" if skipped.kind is LeftOut.MALFORMED else "warning"
            message = f"`{skipped.skill}` cannot take over work: {skipped.reason}"
            remedy = "fix its SKILL.md, or its entry in the registry"
            yield SetupFinding("SKILL_LEFT_OUT", severity, message, remedy, skipped.place)
    for problem in discovery.registry.problems:
        remedy, place = (
            "fix the registry, or remove it: it is optional",
            f"{discovery.registry.path}:{problem.line}",
        )
        yield SetupFinding("REGISTRY_INVALID", "error", problem.reason, remedy, place)


def _workflows(environment: Environment) -> Iterator[str | SetupFinding]:
    """Say what `flow check` and `flow trust` say about all skills."""
    reports = check_workflows((), environment.loader, environment.cwd)
    checked = sum(report.is_workflow and not report.needs_approval for report in reports)
    yield f"{count(checked, 'workflow')} checked"
    for report in reports:
        for finding in report.findings:
            place = f"{report.path}/{finding.place}"
            severity, message, remedy = finding.severity, finding.message, finding.remedy
            yield SetupFinding(finding.code, severity, message, remedy, place, finding.step)
    for skill, why, command in waiting_skills(environment):
        yield SetupFinding("NOT_TRUSTED", "warning", why, f"a person runs: {command}", skill)


def _sessions(environment: Environment) -> Iterator[str | SetupFinding]:
    path, is_folder = environment.store_path, environment.backend.is_folder
    shown = _short(path, environment) if is_folder else environment.backend.shown
    yield f"key and approvals: {_short(environment.state, environment)}"
    exists = not is_folder or os.path.lexists(path)
    folder = path if exists else os.path.dirname(path)
    try:
        if is_folder and not (os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)):
            hint = "name another one with --store"
            raise StorageError(f"{folder} is not a folder that can be written to", hint=hint)
        rows = list_sessions(environment.store, environment.now, every=True) if exists else []
    except FlowError as error:
        yield SetupFinding("STORE_UNUSABLE", "error", error.message, str(error.hint), folder)
        return
    if not exists:
        yield f"{shown}: not found; `{Command('step', 'SKILL')}` creates it"
        return
    broken = [row for row in rows if row.code]
    ended = sum(row.group is Group.ENDED for row in rows)
    counted = f"{len(rows) - len(broken) - ended} open, {ended} ended, {len(broken)} that cannot be used"
    yield f"{shown}: {counted}"
    for row in broken:
        severity = "warning" if row.status == FOREIGN else "error"
        yield SetupFinding(row.code, severity, row.reason, str(row.hint), row.session)


def _hooks(environment: Environment) -> Iterator[str | SetupFinding]:
    found = False
    for host in HOSTS:
        for options, path in _settings_paths(host, environment):
            try:
                file = read_settings(host, path)
            except DocumentError as error:
                message = f"the settings of {host.title} cannot be read: {error.fact}"
                yield SetupFinding("SETTINGS_UNREADABLE", "warning", message, "fix the file", path)
                continue
            if not file.has_hooks:
                continue
            found = True
            yield f"{host.title}: {_short(path, environment)}"
            if file.is_switched_off:
                message = f"the settings of {host.title} switch our hooks off with `disableAllHooks`"
                yield SetupFinding("HOOKS_OFF", "warning", message, "remove `disableAllHooks`", path)
            if file.missing:
                message = f"our hooks for {', '.join(file.missing)} are missing or from a different version"
                again = Command("setup", host=host.name, **options)
                yield SetupFinding("HOOKS_OUTDATED", "warning", message, str(again), path)
    if not found:
        yield f"none; `{Command('setup')}` adds them to a host's settings"


def _settings_paths(host: Host, environment: Environment) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the settings files of a host, each with the options of `flow setup` for it."""
    if host.local_settings:
        yield {"local": True}, os.path.join(environment.project, host.local_settings)
    if host.settings:
        yield {}, os.path.join(environment.project, host.settings)
        yield {"home": True}, host.in_home(host.settings, environment.home, environment.environ)


def _short(path: str, environment: Environment) -> str:
    """Return a path as people read it: from the current folder, or from home."""
    return short_path(path, environment.cwd, environment.home)
