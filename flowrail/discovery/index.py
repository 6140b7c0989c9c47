"""Combine the scan and the registry: which skills can take over work, and why the others cannot.

The name of a folder is its key. The nearest folder of a name is used, whether it accepts handoffs or not.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from flowrail.discovery.candidate import Candidate, LeftOut, Skipped
from flowrail.discovery.declaration import FoundSkill
from flowrail.discovery.locations import Locations, Root, Scope, bundled_folder, look
from flowrail.discovery.registry import REGISTRY_ROOT, Registry, RegistryEntry, read_registry, registry_path
from flowrail.discovery.scan import hidden, judge, read_skill, scan
from flowrail.discovery.scores import Offer, Query, rank
from flowrail.text.phrases import count


@dataclass(frozen=True)
class EmptyMenu:
    """The reason why a menu is empty, and what to do."""

    code: str
    message: str
    hint: str


@dataclass(frozen=True)
class Discovery:
    """The skills that can take over, and those that cannot."""

    candidates: tuple[Candidate, ...] = ()
    """Sorted by scope, then name."""
    skipped: tuple[Skipped, ...] = ()
    places: Locations = field(default=Locations(()))
    registry: Registry = field(default=Registry(""))
    found: tuple[FoundSkill, ...] = ()
    """Every folder with a readable SKILL.md, the nearest first."""
    described: Mapping[str, RegistryEntry] = field(default_factory=dict)
    """The registry's entries, by the path of the SKILL.md that each describes."""

    @property
    def skills(self) -> int:
        """The number of skills in the locations, hidden ones included."""
        known = {skill.path for skill in self.found}
        return len(known | {skipped.path for skipped in self.skipped if skipped.is_skill})

    def named(self, name: str) -> list[Candidate]:
        """Return the candidate whose folder is *name*, or else all that have it as a label."""
        in_folder = [candidate for candidate in self.candidates if candidate.skill == name]
        return in_folder or [candidate for candidate in self.candidates if candidate.name == name]

    def left_out(self, name: str) -> Skipped | None:
        """Return the skill in the folder *name* that is not a candidate, with the reason, or `None`."""
        return next((skill for skill in self.skipped if skill.skill == name and skill.is_skill), None)

    def nothing(self, fitting: int) -> EmptyMenu | None:
        """Return why the menu is empty, given how many candidates fit; `None` if any fits."""
        accepting = sum(candidate.scope is not Scope.BUNDLED for candidate in self.candidates)
        if fitting:
            return None
        if accepting:
            message = (
                f"{count(accepting, 'skill')} accept{'s' * (accepting == 1)} handoffs, none fits the request."
            )
            return EmptyMenu("NONE_FITS", message, "Remove a filter, or see all skills with --all.")
        if self.skills:
            hint = "To enable handoffs, add `handoff:` metadata to SKILL.md. See: flow explain FR183"
            return EmptyMenu(
                "NONE_ACCEPTS", f"{count(self.skills, 'skill')} found, none accept handoffs.", hint
            )
        return EmptyMenu("NONE_INSTALLED", "No skills installed.", "Install skills to enable handoffs.")


def discover(
    cwd: str | None = None,
    home: str | None = None,
    environ: Mapping[str, str] | None = None,
    *,
    extra: Iterable[str] = (),
) -> Discovery:
    """Return the skills that can take over work here, and everything else that was found.

    Arguments that are not given are looked up.
    """
    cwd = os.getcwd() if cwd is None else cwd
    home = os.path.expanduser("~") if home is None else home
    environ = os.environ if environ is None else environ
    return discover_in(look(cwd, home, environ, extra), read_registry(registry_path(home, environ), home))


def discover_handoff_targets(
    cwd: str | None = None, home: str | None = None, environ: Mapping[str, str] | None = None
) -> list[Candidate]:
    """Return the skills that can take over work, nearest scope first, then by name."""
    return list(discover(cwd, home, environ).candidates)


def find_workflows(
    *,
    category: str | Iterable[str] = (),
    accepts_from: str = "",
    schema_version: str = "",
    input: str | Iterable[str] = (),  # noqa: A002 - as the registry's document calls it
    discovery: Discovery | None = None,
) -> list[Offer]:
    """Return the workflows that match the whole request, best first: those of *discovery*, or those found here.

    If nothing is requested, they have no score.
    """
    categories, inputs = (tuple([value] if isinstance(value, str) else value) for value in (category, input))
    query = Query(categories, accepts_from, schema_version, inputs)
    return rank((discovery or discover()).candidates, query)


def discover_in(locations: Locations, registry: Registry) -> Discovery:
    """Return the skills in *locations*, described by *registry*, and those that only the registry names."""
    results = [*scan(locations.usable)]
    found = [skill for skill in results if isinstance(skill, FoundSkill)]
    described = _described(found, registry)
    for entry in registry.entries:
        if entry.present and entry not in described.values():
            elsewhere = read_skill(os.path.dirname(entry.path), REGISTRY_ROOT)
            results.append(elsewhere)
            if isinstance(elsewhere, FoundSkill):
                found.append(elsewhere)
                described[elsewhere.path] = entry
    nearest: dict[str, FoundSkill] = {}
    for skill in found:
        nearest.setdefault(skill.skill, skill)
    verdicts: list[Candidate | Skipped] = [
        judge(skill, described.get(skill.path))
        if skill is nearest[skill.skill]
        else hidden(skill, nearest[skill.skill].path)
        for skill in found
    ]
    verdicts += (
        _judge_entry(entry, nearest, registry.path)
        for entry in registry.entries
        if not entry.present and entry not in described.values()
    )
    candidates = [verdict for verdict in verdicts if isinstance(verdict, Candidate)]
    candidates.sort(key=lambda candidate: (candidate.scope.priority, candidate.skill))
    skipped = [skill for skill in (*results, *verdicts) if isinstance(skill, Skipped)]
    return Discovery(tuple(candidates), tuple(skipped), locations, registry, tuple(found), described)


def with_bundled(installed: Discovery) -> Discovery:
    """Return the installed skills and, after them, the bundled ones that none of them hides.

    Bundled skills need no installation. Their folder is not a location of installed skills, so they are not counted.
    """
    folder = bundled_folder()
    shipped = discover_in(Locations((Root(folder, Scope.BUNDLED, Scope.BUNDLED.value),)), Registry(""))
    taken = {skill.skill for skill in installed.found} | {skill.skill for skill in installed.skipped}
    bundled = (candidate for candidate in shipped.candidates if candidate.skill not in taken)
    return replace(installed, candidates=(*installed.candidates, *bundled))


def unusable(locations: Locations) -> Iterator[Root]:
    """Yield the locations that should be usable and are not. A missing folder counts only if the user named it."""
    for root in locations.roots:
        is_common = root.problem.startswith(("missing", "same folder"))
        if root.problem and (root.scope is Scope.EXTRA or not is_common):
            yield root


def _described(skills: Iterable[FoundSkill], registry: Registry) -> dict[str, RegistryEntry]:
    """Return the entries of the registry, by the path of the skill that an entry describes.

    An entry describes the skill in its folder. Otherwise it describes the skill of its name in the user's home.
    """
    described: dict[str, RegistryEntry] = {}
    by_folder = {os.path.dirname(entry.path): entry for entry in registry.entries if not entry.remote}
    by_name = {entry.skill: entry for entry in registry.entries}
    for skill in skills:
        entry = by_folder.get(os.path.normpath(os.path.dirname(skill.path)))
        named = by_name.get(skill.skill)
        if entry is None and named and (not named.path or (skill.root.personal and not named.remote)):
            entry = named
        if entry is not None:
            described[skill.path] = entry
    return described


def _judge_entry(
    entry: RegistryEntry, nearest: Mapping[str, FoundSkill], registry: str
) -> Candidate | Skipped:
    """Judge an entry whose skill the scan did not find: it is remote, or it no longer exists."""
    skipped = Skipped(entry.skill, Scope.REGISTRY, registry, LeftOut.NO_SKILL, "", entry.line)
    if not entry.remote:
        return replace(skipped, reason=f"the registry names {entry.path}, which was not found")
    if entry.skill in nearest:
        return replace(skipped, kind=LeftOut.HIDDEN, reason=f"hidden by {nearest[entry.skill].path}")
    verdict = judge(entry)
    if isinstance(verdict, Candidate):
        return replace(verdict, remote=True)
    return replace(verdict, path=registry, line=verdict.line or entry.line)
