"""Combine the scan and the registry: which skills can take over work, which are hidden, and why the others cannot.

The name of a folder is its key. The nearest folder of a name is used, whether it accepts handoffs or not. The others
are hidden, and kept so that they can be shown.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.locations import Locations, Root, Scope, look
from flowrail.discovery.registry_file import Registry, RegistryEntry, read_registry, registry_path
from flowrail.discovery.scan.eligibility import judge, shadowed
from flowrail.discovery.scan.scan import ScannedSkill, ScanResult, scan, visit
from flowrail.text.safe_text import in_quotes


class EmptyMenu(NamedTuple):
    """The reason why a menu is empty: one of three cases, a solution, and the number of skills.

    ``codes`` counts the reasons why skills were skipped.
    """

    code: str
    message: str
    hint: str
    skills: int
    accepting: int
    codes: Mapping[str, int]


class Discovery(NamedTuple):
    """The skills that can take over, those that cannot, and notes about them.

    ``candidates`` are sorted by scope, then name. ``hidden`` are those that would be candidates if no nearer folder had
    their name. ``skills`` counts the folders with a SKILL.md. ``described`` are the registry's entries by the path of the
    skill that each describes.
    """

    candidates: tuple[Candidate, ...] = ()
    hidden: tuple[Candidate, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[Note, ...] = ()
    places: Locations = Locations(())
    registry: Registry = Registry("")
    skills: int = 0
    described: Mapping[str, RegistryEntry] = {}

    def named(self, name: str) -> list[Candidate]:
        """Return the candidate whose folder is *name*, or else all that have it as a label."""
        in_folder = [candidate for candidate in self.candidates if candidate.skill == name]
        return in_folder or [candidate for candidate in self.candidates if candidate.name == name]

    def nothing(self, fitting: int) -> EmptyMenu | None:
        """Return why the menu is empty, given how many candidates fit; `None` if any fits."""
        if fitting:
            return None
        codes = dict(Counter(skill.code for skill in self.skipped if skill.is_skill))
        accepting = len(self.candidates)
        if not self.skills and not accepting:
            case = ("NONE_INSTALLED", "No skills installed.", "Install skills to enable handoffs.")
        elif not accepting:
            case = (
                "NONE_ACCEPTS",
                f"{_skills(self.skills)} found, none accept handoffs.",
                "To enable handoffs, add `handoff:` metadata to SKILL.md. See: docs/reference/discovery.md",
            )
        else:
            case = (
                "NONE_FITS",
                f"{_skills(accepting)} accept{'s' * (accepting == 1)} handoffs, none fits the request.",
                "Remove a filter, or see all skills with `flow discover --all`.",
            )
        return EmptyMenu(*case, self.skills, accepting, codes)


_NOTHING = ScanResult(())


def _skills(count: int) -> str:
    return f"{count} skill{'' if count == 1 else 's'}"


def discover(
    cwd: str,
    home: str,
    environ: Mapping[str, str],
    *,
    extra: Iterable[str] = (),
) -> Discovery:
    """Return the skills that can take over work here, and everything else that was found."""
    locations = look(cwd, home, environ, extra)
    scanned = scan(locations.usable)
    registry = read_registry(registry_path(home, environ), home)
    described = _described(scanned.skills, registry).values()
    elsewhere = visit(entry.path for entry in registry.entries if entry.present and entry not in described)
    return combine(locations, scanned, registry, elsewhere)


def combine(
    locations: Locations, scanned: ScanResult, registry: Registry, elsewhere: ScanResult = _NOTHING
) -> Discovery:
    """Combine the *scanned* skills with those that the registry names *elsewhere*."""
    skills = (*scanned.skills, *elsewhere.skills)
    described = _described(skills, registry)
    groups: dict[str, list[ScannedSkill]] = {}
    for skill in skills:
        groups.setdefault(skill.skill, []).append(skill)
    verdicts: list[Candidate | Skipped] = []
    shadows: list[Skipped] = []
    hidden: list[Candidate] = []
    notes = list(registry.notes)
    for first, *others in groups.values():
        verdicts.append(_judge(first, described))
        shadows += (shadowed(other, first.path) for other in others)
        hidden += (verdict for other in others if isinstance(verdict := _judge(other, described), Candidate))
        notes += _collisions(first, others)
    verdicts += (
        _judge_entry(entry, groups, registry.path)
        for entry in registry.entries
        if not entry.present and entry not in described.values()
    )
    candidates = [verdict for verdict in verdicts if isinstance(verdict, Candidate)]
    candidates.sort(key=lambda candidate: (candidate.scope.priority, candidate.skill))
    skipped = [*scanned.skipped, *elsewhere.skipped]
    return Discovery(
        candidates=tuple(candidates),
        hidden=tuple(hidden),
        skipped=(*skipped, *(verdict for verdict in verdicts if isinstance(verdict, Skipped)), *shadows),
        notes=(*notes, *_same_names(candidates)),
        places=locations,
        registry=registry,
        described=described,
        skills=len(skills) + sum(skill.is_skill for skill in skipped),
    )


def _described(skills: Iterable[ScannedSkill], registry: Registry) -> dict[str, RegistryEntry]:
    """Return the entries of the registry, by the path of the skill that an entry describes.

    An entry describes the skill in its folder. Otherwise it describes the skill of its name in the user's home.
    """
    described: dict[str, RegistryEntry] = {}
    if not registry.entries:
        return described
    by_folder = {os.path.dirname(entry.path): entry for entry in registry.entries if not entry.remote}
    by_name = {entry.folder: entry for entry in registry.entries}
    for skill in skills:
        entry = by_folder.get(os.path.normpath(os.path.dirname(skill.path)))
        named = by_name.get(skill.skill)
        if entry is None and named and (not named.path or (skill.root.personal and not named.remote)):
            entry = named
        if entry is not None:
            described[skill.path] = entry
    return described


def _judge(skill: ScannedSkill, described: Mapping[str, RegistryEntry]) -> Candidate | Skipped:
    entry = described.get(skill.path)
    return judge(skill, entry.reading, entry.edited) if entry else judge(skill)


def _collisions(first: ScannedSkill, hidden_skills: list[ScannedSkill]) -> Iterator[Note]:
    for hidden in hidden_skills:
        if hidden.root.personal and not first.root.personal:
            reason = (
                f"`{in_quotes(first.skill)}` is also installed at {hidden.path}, and hosts may start that one"
            )
            yield Note("CLIENT_PREFERS_PERSONAL", reason, first.path)


def _judge_entry(
    entry: RegistryEntry, groups: Mapping[str, list[ScannedSkill]], registry: str
) -> Candidate | Skipped:
    """Judge an entry whose skill the scan did not find: it is remote, or it no longer exists."""
    skipped = Skipped(entry.folder, Scope.REGISTRY, registry, "", "", entry.line, entry.name)
    if not entry.remote:
        reason = f"the registry names {entry.path}, which was not found"
        return skipped._replace(code="REGISTRY_STALE", reason=reason)
    if entry.folder in groups:
        return skipped._replace(code="SHADOWED", reason=f"hidden by {groups[entry.folder][0].path}")
    root = Root("", Scope.REGISTRY, "registry")
    verdict = judge(ScannedSkill(entry.folder, entry.path, root, entry.reading))
    if isinstance(verdict, Candidate):
        return verdict._replace(remote=True)
    return verdict._replace(path=registry, line=verdict.line or entry.line)


def _same_names(candidates: Iterable[Candidate]) -> Iterator[Note]:
    """Yield a note for each name that several skills have, as their folder's name or as a label."""
    called: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for name in {candidate.skill, candidate.name}:
            called.setdefault(name, []).append(candidate)
    for name, several in called.items():
        if len(several) > 1:
            folders = ", ".join(f"`{in_quotes(candidate.skill)}`" for candidate in several)
            yield Note(
                "SAME_NAME", f"several skills have the name `{in_quotes(name)}`: {folders}", several[0].path
            )
