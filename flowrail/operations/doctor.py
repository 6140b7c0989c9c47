"""Examine the whole set-up: facts, findings, and a remedy for each finding.

Nothing is written. An *error* is something that does not work as intended. A *warning* is something that works, but may
surprise.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from typing import Any

from flowrail import __version__
from flowrail.command import Command
from flowrail.discovery.candidate import LeftOut
from flowrail.discovery.frontmatter import read_file
from flowrail.discovery.index import Discovery, discover, unusable
from flowrail.discovery.registry_sync import plan
from flowrail.errors import DocumentError, FlowError
from flowrail.hosts.host import HOSTS, Host
from flowrail.hosts.settings import read_settings
from flowrail.operations.board import FOREIGN, list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.operation import operation
from flowrail.operations.skills.skill_check import check as check_workflows
from flowrail.operations.skills.trust import waiting_skills
from flowrail.skills.card import departures
from flowrail.storage.user_mark import Owner
from flowrail.text.phrases import count, joined
from flowrail.text.report import FilePath, Report, Span, Style, line, paragraphs, short_path, status, title
from flowrail.text.safe_text import shortened

_SPECIFICATION = "FR168"
"""The finding of a workflow that repeats an issue of its SKILL.md."""
_MOST_SHOWN = 3


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
        """Return what a person reads. Findings of one kind are listed together, errors first."""
        yield title(self.name)
        yield from (f"  {shortened(fact, 400)}" for fact in self.facts)
        by_kind = sorted(self.findings, key=lambda finding: (finding.severity, finding.code))
        for (severity, code), group in groupby(by_kind, key=lambda finding: (finding.severity, finding.code)):
            same = list(group)
            yield line("  ", status(severity), f" {code}{f' ({len(same)} times)' if len(same) > 1 else ''}")
            for finding in same[:_MOST_SHOWN]:
                place = (" (", FilePath(finding.place), ")") if finding.place else ()
                yield line("    ", shortened(finding.message), *place)
                yield f"      = {shortened(finding.remedy)}"
            if len(same) > _MOST_SHOWN:
                yield f"    and {len(same) - _MOST_SHOWN} more; --json has them all"


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
    discovery = discover(environment.cwd, environment.home, environment.environ, extra=environment.extra)
    examinations: dict[str, Callable[[Environment, Discovery], Iterator[str | SetupFinding]]] = {
        "installation": _installation,
        "locations": _locations,
        "skills": _skills,
        "registry": _registry,
        "workflows": _workflows,
        "sessions": _sessions,
        "trust": _approvals,
        "hooks": _hooks,
    }
    sections = []
    for name, examine in examinations.items():
        found = list(examine(environment, discovery))
        facts = [fact for fact in found if isinstance(fact, str)]
        sections.append(Section(name, facts, [each for each in found if isinstance(each, SetupFinding)]))
    severities = Counter(finding.severity for section in sections for finding in section.findings)
    return Diagnosis(severities["error"], severities["warning"], sections)


# Each examination yields facts as texts, and findings.


def _installation(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    del discovery
    yield f"flowrail {__version__}, Python {sys.version.split()[0]} ({sys.executable})"
    path = shutil.which("flow", path=environment.environ.get("PATH", os.defpath))
    yield f"`flow` is {path or 'not on PATH'}"
    if path is None:
        message = "`flow` is not on PATH, and every printed command begins with it"
        remedy = f"add {sysconfig.get_path('scripts')} to PATH"
        yield SetupFinding("FLOW_NOT_ON_PATH", "error", message, remedy)


def _locations(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    places = discovery.places
    counts = Counter(skill.root.path for skill in discovery.found)
    for root in places.roots:
        found = root.problem or count(counts[root.path], "skill")
        yield f"{_short(root.path, environment)} ({root.origin}): {found}"
    if places.superproject:
        yield f"a submodule of {_short(places.superproject, environment)}"
    for root in unusable(places):
        remedy = "check the path and its permissions"
        yield SetupFinding("PLACE_UNUSABLE", "error", root.problem, remedy, root.path)


def _skills(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    """Each SKILL.md is read again with all its keys, which discovery does not need."""
    del environment
    yield f"{count(discovery.skills, 'folder')} with a SKILL.md, {len(discovery.candidates)} accept handoffs"
    if discovery.skipped:
        yield f"{len(discovery.skipped)} left out; see why: {Command('discover', all=True)}"
    for skipped in discovery.skipped:
        if skipped.is_wrong and skipped.path != discovery.registry.path:
            severity = "error" if skipped.kind is LeftOut.MALFORMED else "warning"
            message = f"`{skipped.skill}` cannot take over work: {skipped.reason}"
            yield SetupFinding("SKILL_LEFT_OUT", severity, message, "fix its SKILL.md", skipped.place)
    for skill in discovery.found:
        try:
            front = read_file(skill.path)
        except OSError:
            continue
        for issue in departures(front, skill.skill) if not front.problem else ():
            place = f"{skill.path}:{issue.place.line}"
            yield SetupFinding(_SPECIFICATION, issue.severity, issue.message, issue.remedy, place)


def _registry(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    registry = discovery.registry
    path = _short(registry.path, environment)
    if not registry.exists:
        yield f"none at {path}; it is optional"
        return
    yield f"{path}: {count(len(registry.entries), 'workflow')}"
    for problem in registry.problems:
        remedy, place = "fix the registry, or remove it: it is optional", f"{registry.path}:{problem.line}"
        yield SetupFinding("REGISTRY_INVALID", "error", problem.reason, remedy, place)
    for skipped in discovery.skipped:
        if skipped.path == registry.path and skipped.kind is not LeftOut.HIDDEN:
            remedy = "remove the entry, or correct its `skill_path`"
            yield SetupFinding("REGISTRY_STALE", "warning", skipped.reason, remedy, skipped.place)
    if not registry.problems:
        sync = plan(discovery, home=environment.home, now=datetime.fromisoformat(environment.now)).sync
        if sync.changes:
            message = f"not up to date for {joined([*sync.added, *sync.updated])}"
            remedy = str(Command("registry sync"))
            yield SetupFinding("REGISTRY_DIFFERS", "warning", message, remedy, registry.path)


def _workflows(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    loader = replace(environment.loader, roots=discovery.places.usable)
    reports = check_workflows((), loader, environment.cwd)
    checked = sum(report.is_workflow and not report.needs_approval for report in reports)
    yield f"{count(checked, 'workflow')} checked"
    for report in reports:
        for finding in report.findings:
            if finding.code != _SPECIFICATION:
                place = f"{report.path}/{finding.place}"
                yield SetupFinding(
                    finding.code, finding.severity, finding.message, finding.remedy, place, finding.step
                )


def _sessions(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    del discovery
    path, database = environment.store_path, environment.database
    problems = [
        *_unusable(path, "sessions", "fix it, or name another folder with --store"),
        *_unusable(environment.state, "the user's own state", "fix it"),
        *_broken_key(environment.state),
    ]
    counts = Counter(dict.fromkeys(("open", "ended", "foreign", "broken"), 0))
    problems += [] if problems else _examine_sessions(environment, counts)
    found = ", ".join(f"{number} {kind}" for kind, number in counts.items())
    if database is None and not os.path.isdir(path):
        found = f"not found; `{Command('step', 'SKILL')}` creates it"
    yield f"{database.shown if database is not None else _short(path, environment)}: {found}"
    yield f"key and approvals: {_short(environment.state, environment)}"
    yield from problems


def _examine_sessions(environment: Environment, counts: Counter[str]) -> Iterator[SetupFinding]:
    """Count every session, and yield the findings about it."""
    try:
        rows = list_sessions(environment.store, environment.now, every=True)
    except FlowError as error:
        yield SetupFinding("STORE_UNUSABLE", "error", error.message, str(error.hint), environment.store_path)
        return
    for row in rows:
        if row.status == FOREIGN:
            counts["foreign"] += 1
            remedy = f"to continue it, a person must run: {Command('trust', session=row.session)}"
            message = "you did not start it on this machine"
            yield SetupFinding("SESSION_FOREIGN", "warning", message, remedy, row.session)
        elif row.code:
            counts["broken"] += 1
            yield SetupFinding("SESSION_BROKEN", "error", row.reason, str(row.hint), row.session)
        else:
            counts["open" if row.is_open else "ended"] += 1


def _broken_key(state: str) -> Iterator[SetupFinding]:
    if os.path.lexists(os.path.join(state, "key")):
        try:
            Owner(state).key()
        except DocumentError as error:
            yield SetupFinding("KEY_BROKEN", "error", error.fact, str(error.hint), error.place)


def _unusable(folder: str, subject: str, remedy: str) -> Iterator[SetupFinding]:
    """Yield a finding if *folder* cannot be created or written to."""
    path = folder
    while not os.path.lexists(path) and os.path.dirname(path) != path:
        path = os.path.dirname(path)
    problem = ""
    try:
        found = os.lstat(path) if path == folder else os.stat(path)
        if not stat.S_ISDIR(found.st_mode):
            problem = "is not a folder"
        elif path == folder and found.st_uid != os.geteuid():
            problem = "belongs to another user"
        elif not os.access(path, os.W_OK | os.X_OK):
            problem = "cannot be written to"
    except OSError as error:
        problem = f"cannot be reached: {error.strerror}"
    if problem:
        yield SetupFinding("STORE_UNUSABLE", "error", f"{subject}: {path} {problem}", remedy, folder)


def _approvals(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    del discovery
    waiting = list(waiting_skills(environment))
    yield f"{count(len(waiting), 'skill')} waiting for approval"
    for skill in waiting:
        remedy = f"a person runs: {skill.command}"
        yield SetupFinding("NOT_TRUSTED", "warning", skill.why, remedy, skill.name)


def _hooks(environment: Environment, discovery: Discovery) -> Iterator[str | SetupFinding]:
    del discovery
    found = False
    for host in HOSTS:
        files: dict[str, Command] = {}
        for options, path in _settings_paths(host, environment):
            try:
                file = read_settings(host, path)
            except DocumentError as error:
                message = f"the settings of {host.title} cannot be read: {error.fact}"
                remedy = "fix the file; it must be plain JSON"
                yield SetupFinding("SETTINGS_UNREADABLE", "warning", message, remedy, path)
                continue
            if not file.has_hooks or file.path in files:
                continue
            files[file.path] = Command("setup", host=host.name, **options)
            yield f"{host.title}: {_short(path, environment)}"
            if file.is_switched_off:
                message = f"the settings of {host.title} switch our hooks off with `disableAllHooks`"
                yield SetupFinding("HOOKS_OFF", "warning", message, "remove `disableAllHooks`", path)
            if file.missing:
                message = f"our hooks for {', '.join(file.missing)} are missing or from a different version"
                yield SetupFinding("HOOKS_OUTDATED", "warning", message, str(files[file.path]), path)
        if len(files) > 1:
            first, again = next(iter(files.items()))
            message = f"our hooks are in {len(files)} settings files of {host.title}, so they run twice"
            remedy = str(again.with_options(remove=True))
            yield SetupFinding("HOOKS_TWICE", "warning", message, remedy, first)
        found = found or bool(files)
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
