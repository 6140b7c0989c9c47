"""The whole set-up examined: what there is, what is wrong, and what to do about it.

Nothing is run and nothing written. An *error* is what does not work as somebody meant it; a *warning*
works, and may surprise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from flowrail.discovery.candidate import Skipped
from flowrail.discovery.diagnostics import HINTS, Note
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.locations import Root
from flowrail.discovery.ranking.menu import remarks
from flowrail.discovery.registry.listing import MISTAKES
from flowrail.machines.definition.findings import Finding
from flowrail.operations.doctor.installation import installation
from flowrail.operations.doctor.section import (
    DoctorContext,
    Section,
    count,
    guarded,
)
from flowrail.operations.doctor.sessions import leave, sessions
from flowrail.operations.doctor.skills import Examination, examine

#: What is told of a skill and means that it does not do what its author meant.
WRONG = MISTAKES | {
    "PLACE_UNUSABLE", "UNREADABLE", "NOT_A_FILE", "DANGLING_LINK", "LINK_LOOP", "NO_FRONTMATTER",
    "UNCLOSED_FRONTMATTER", "INVALID_FRONTMATTER", "UNKNOWN_VERSION", "NO_CATEGORIES",
    "NO_DESCRIPTION", "SPEC_NAME_MISSING", "SPEC_DESCRIPTION_MISSING",
}  # fmt: skip
#: What keeps a folder from being offered and is as it should be.
_AS_MEANT = frozenset(
    {"NO_HANDOFF", "NOT_ACCEPTING", "SHADOWED", "HIDDEN_FOLDER", "SAME_FOLDER", "REGISTRY_STALE"}
)
#: Told by the open skill specification's own codes.
_TWICE = frozenset({"NAME_DIFFERS"})
_DIALECTS = {"v3": "v3", "v2": "v2 (legacy)", "v2+v3": "both", "": "the registry alone"}


def diagnose(world: DoctorContext, more: Sequence[Callable[[], Section]] = ()) -> dict[str, Any]:
    """Return what `flow doctor` tells, as plain data: sections with facts, findings, and how many.

    *more* are sections of rooms that this one does not know.
    """
    found = discover(world.cwd, world.home, world.environ, extra=world.extra, ask_git=world.ask_git)
    roots = found.places.usable
    sections = [
        _installation(world),
        *_skills(found, world),
        _registry(found),
        guarded("workflows", lambda: _workflows(roots, world.cwd)),
        guarded("sessions", lambda: sessions(world)),
        leave(roots, world.state),
        *(each() for each in more),
    ]
    findings = [{"section": each.name, **finding._asdict()} for each in sections for finding in each.findings]
    counts = Counter(finding["severity"] for finding in findings)
    return {
        "ok": not counts["error"],
        "errors": counts["error"],
        "warnings": counts["warning"],
        "findings": findings,
        "sections": {each.name: {"facts": list(each.facts), **each.data} for each in sections},
    }


# --- installation ---------------------------------------------------------------------------------


def _installation(world: DoctorContext) -> Section:
    about = installation(world.environ)
    needs = [f"{need.wanted} ({need.installed or 'missing'})" for need in about.needs]
    facts = [
        f"flowrail {about.version}, Python {about.python} ({about.executable})",
        *([f"needs {', '.join(needs)}"] if needs else []),
        f"`flow` is {about.command or 'not on PATH'}",
    ]
    data = about._asdict() | {"needs": [need._asdict() for need in about.needs]}
    del data["findings"]
    return Section("installation", facts, about.findings, data)


# --- skills ---------------------------------------------------------------------------------------


def _skills(found: Discovery, world: DoctorContext) -> Iterator[Section]:
    seen = examine(found, world.home, world.environ)
    yield _places(found)
    yield _files(found, seen)
    yield _hosts(seen)


def _places(found: Discovery) -> Section:
    places = found.places
    counts = Counter(each.root for each in (*found.candidates, *found.hidden))
    counts.update(each.root for each in found.skipped if each.is_skill and each.code != "SHADOWED")
    facts = [
        f"{root.path} ({root.origin}): {root.problem or count(counts[root.path], 'skill')}"
        for root in places.roots
    ]
    if places.superproject:
        facts.append(f"a submodule of {places.superproject}")
    told = [
        note for note in remarks(found) if note.code in {"PLACE_UNUSABLE", "GIT_SILENT", "TOO_MANY_FOLDERS"}
    ]
    data = {
        "places": [
            {"path": root.path, "scope": root.scope.value, "origin": root.origin, "problem": root.problem}
            for root in places.roots
        ],
        "git_root": places.git_root,
        "superproject": places.superproject,
    }
    return Section("places", facts, list(_as_findings(told)), data)


def _files(found: Discovery, seen: Examination) -> Section:
    facts = [
        f"{count(found.skills, 'folder')} with a SKILL.md",
        f"accept handoffs: {len(found.candidates)}; hidden by a nearer folder: {len(found.hidden)} more",
    ]
    if seen.dialects:
        dialects = ", ".join(f"{many} {_DIALECTS.get(each, each)}" for each, many in seen.dialects.items())
        facts.append(f"dialects: {dialects}")
    if seen.skipped:
        facts.append("passed over: " + ", ".join(f"{many} {code}" for code, many in seen.skipped.items()))
    told = [
        *(_as_note(each) for each in found.skipped if each.code not in _AS_MEANT),
        *seen.collisions,
        *(note for note in seen.readings if note.code not in _TWICE),
        *seen.conformance,
    ]
    data = {
        "skills": found.skills,
        "accepting": len(found.candidates),
        "hidden": len(found.hidden),
        "dialects": dict(seen.dialects),
        "skipped": dict(seen.skipped),
    }
    return Section("skills", facts, list(_as_findings(told)), data)


def _hosts(seen: Examination) -> Section:
    facts = [f"{host.name} ({host.folder})" for host in seen.hosts if host.found]
    data = {"hosts": [host._asdict() for host in seen.hosts]}
    return Section("hosts", facts or ["no client that reads skills is known here"], [], data)


def _registry(found: Discovery) -> Section:
    registry = found.registry
    if not registry.exists:
        facts = [f"none at {registry.path}; it is optional"]
        return Section("registry", facts, [], {"path": registry.path, "exists": False, "workflows": 0})
    return guarded("registry", lambda: _read_registry(found))


def _read_registry(found: Discovery) -> Section:
    from flowrail.discovery.registry.check import check  # brings pydantic

    registry = found.registry
    facts = [f"{registry.path}: {count(len(registry.entries), 'workflow')}"]
    data = {"path": registry.path, "exists": True, "workflows": len(registry.entries)}
    return Section("registry", facts, list(_as_findings(check(found))), data)


def _as_note(skipped: Skipped) -> Note:
    return Note(skipped.code, skipped.reason, skipped.path, skipped.line)


def _as_findings(told: Iterable[Note]) -> Iterator[Finding]:
    """Yield each note once by its code and place: two rooms may tell of the same mistake."""
    for note in {(note.code, note.place, note.reason): note for note in told}.values():
        severity = "error" if note.code in WRONG else "warning"
        yield Finding(note.code, severity, note.reason, HINTS[note.code], note.place)


# --- workflows -----------------------------------------------------------------------


def _workflows(roots: Sequence[Root], cwd: str) -> Section:
    from flowrail.operations.skills.check import check  # brings pydantic

    reports = check((), roots, cwd)
    findings = [
        finding._replace(place=f"{report.path}/{finding.place}")
        for report in reports
        for finding in report.findings
    ]
    facts = [f"{count(len(reports), 'workflow')} read, none run: {len(findings) or 'no'} mistakes"]
    return Section("workflows", facts, findings, {"checked": [report.address for report in reports]})
