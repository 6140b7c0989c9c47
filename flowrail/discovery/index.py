"""Scan and registry as one: who can take over work, who is hidden by whom, and why the others cannot.

A folder's name is the key. The nearest folder of a name counts, whether it accepts handoffs or not;
the others are hidden and kept, so that they can be shown and told of.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.locations import AskGit, Locations, Root, Scope, look
from flowrail.discovery.registry_file import Registry, RegistryEntry, read_registry, registry_path
from flowrail.discovery.scan.declaration import SkillFile
from flowrail.discovery.scan.eligibility import judge, shadowed
from flowrail.discovery.scan.scan import (
    Scanned,
    ScannedSkill,
    scan,
    visit,
)
from flowrail.errors import UsageError
from flowrail.text.safe_text import in_quotes

_NAME = re.compile(r"\w[\w.-]{0,63}\Z")
_MOST_NAMED = 40


class UnknownCandidateError(UsageError):
    """No candidate goes by that name."""

    code = "UNKNOWN_CANDIDATE"

    def __init__(self, name: str, names: Iterable[str]) -> None:
        known = sorted(names)
        hint = _by_name("choose one of", known)
        super().__init__(
            f"no skill that accepts handoffs is called `{name}`", hint=hint, skill=name, skills=known
        )


class AmbiguousSkillError(UsageError):
    """Several skills call themselves so, and none of their folders is called so."""

    code = "AMBIGUOUS_SKILL"

    def __init__(self, name: str, skills: Iterable[str]) -> None:
        folders = list(skills)
        hint = _by_name("name it by its folder", folders)
        super().__init__(
            f"{len(folders)} skills call themselves `{name}`", hint=hint, skill=name, skills=folders
        )


def _by_name(what: str, names: Iterable[str]) -> str:
    """Return a hint that gives *names*: those that can be no more than names, and of many the first."""
    plain = [each for each in names if _NAME.match(each)]
    more = f" and {len(plain) - _MOST_NAMED} more" if len(plain) > _MOST_NAMED else ""
    return f"{what}: {', '.join(plain[:_MOST_NAMED])}{more}" if plain else "see `flow discover --all`"


class EmptyMenu(NamedTuple):
    """That there is nothing to offer: which of the three cases, what to do, and how many there were.

    ``codes`` counts what kept the skills from being offered.
    """

    code: str
    message: str
    hint: str
    skills: int
    accepting: int
    codes: Mapping[str, int]


class Discovery(NamedTuple):
    """What was found, what was not taken, and what to know about it.

    ``candidates`` are in order of scope, then name. ``hidden`` are those that would be candidates if
    no nearer folder had their name. ``skills`` counts the folders with a SKILL.md.
    """

    candidates: tuple[Candidate, ...] = ()
    hidden: tuple[Candidate, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[Note, ...] = ()
    places: Locations = Locations(())
    registry: Registry = Registry("")
    skills: int = 0

    def find(self, name: str) -> Candidate:
        """Return the candidate whose folder is *name*, else the only one that calls itself so."""
        for candidate in self.candidates:
            if candidate.skill == name:
                return candidate
        labelled = [candidate for candidate in self.candidates if candidate.name == name]
        if len(labelled) > 1:
            raise AmbiguousSkillError(name, (each.skill for each in labelled))
        if not labelled:
            raise UnknownCandidateError(name, (each.skill for each in self.candidates))
        return labelled[0]

    def nothing(self, fitting: int) -> EmptyMenu | None:
        """Return what to say where none is offered, *fitting* being how many answer what was asked."""
        if fitting:
            return None
        codes = dict(Counter(each.code for each in self.skipped if each.is_skill))
        accepting = len(self.candidates)
        if not self.skills and not accepting:
            told = ("NONE_INSTALLED", "No skills installed.", "Install skills to enable handoffs.")
        elif not accepting:
            told = (
                "NONE_ACCEPTS",
                f"{_skills(self.skills)} found, none accept handoffs.",
                "To enable handoffs, add `handoff:` metadata to SKILL.md; `--why NAME` says more.",
            )
        else:
            told = (
                "NONE_FITS",
                f"{_skills(accepting)} accept{'s' * (accepting == 1)} handoffs, none fits what was asked.",
                "Ask for less, or see them all with `flow discover --all`.",
            )
        return EmptyMenu(*told, self.skills, accepting, codes)

    def data(self, *, everything: bool = False) -> dict[str, object]:
        """Return it as plain data, for JSON; with *everything* those hidden too."""
        candidates = [*self.candidates, *(self.hidden if everything else ())]
        return {
            "candidates": [each.data() for each in candidates],
            "skipped": [each.data() for each in self.skipped],
            "notes": [each.data() for each in self.notes],
        }


_NOTHING = Scanned(())


def _skills(count: int) -> str:
    return f"{count} skill{'' if count == 1 else 's'}"


def discover(
    cwd: str,
    home: str,
    environ: Mapping[str, str],
    *,
    extra: Iterable[str] = (),
    recursive: bool = False,
    ask_git: AskGit | None = None,
) -> Discovery:
    """Return what can take over work here, and everything else that was seen on the way."""
    places = look(cwd, home, environ, extra, ask_git=ask_git)
    scanned = scan(places.usable, recursive=recursive)
    registry = read_registry(registry_path(home, environ), home)
    elsewhere = visit(_elsewhere(scanned, registry))
    return combine(places, scanned, registry, elsewhere)


def combine(
    places: Locations, scanned: Scanned, registry: Registry, elsewhere: Scanned = _NOTHING
) -> Discovery:
    """Return *scanned*, and what lies *elsewhere* by the registry's word, as one. Pure."""
    found = (*scanned.found, *elsewhere.found)
    entries = _Entries(registry)
    groups: dict[str, list[ScannedSkill]] = {}
    for each in found:
        groups.setdefault(each.skill, []).append(each)
    settled = [_settle(group, entries) for group in groups.values()]
    gone = [entry for entry in entries.unmatched(found) if not entry.present]  # else it is told already
    settled += [_from_registry(entry, groups) for entry in gone]
    firsts = [each.first for each in settled]
    candidates = sorted(
        (each for each in firsts if isinstance(each, Candidate)), key=lambda each: (each.scope, each.skill)
    )
    skipped = [*scanned.skipped, *elsewhere.skipped, *(each for each in firsts if isinstance(each, Skipped))]
    silent = [Note("GIT_SILENT", places.problem)] if places.problem else []
    notes = [*silent, *scanned.notes, *registry.notes, *(note for each in settled for note in each.notes)]
    return Discovery(
        candidates=tuple(candidates),
        hidden=tuple(candidate for each in settled for candidate in each.hidden),
        skipped=(*skipped, *(other for each in settled for other in each.others)),
        notes=(*notes, *_same_names(candidates)),
        places=places,
        registry=registry,
        skills=len(found) + sum(each.is_skill for each in (*scanned.skipped, *elsewhere.skipped)),
    )


class _Settled(NamedTuple):
    """The folder of a name that counts, and what becomes of the others that have it too."""

    first: Candidate | Skipped
    others: tuple[Skipped, ...] = ()
    hidden: tuple[Candidate, ...] = ()
    notes: tuple[Note, ...] = ()


class _Entries:
    """The registry's entries, by the skill that each is about."""

    def __init__(self, registry: Registry) -> None:
        self._all = registry.entries
        self._by_place = {
            os.path.dirname(entry.path): entry for entry in registry.entries if not entry.remote
        }
        self._by_folder = {entry.folder: entry for entry in registry.entries}

    def of(self, found: ScannedSkill) -> RegistryEntry | None:
        """Return the entry about *found*: that of its folder, or of its name if it is the user's own."""
        if not self._all:
            return None
        entry = self._by_place.get(os.path.normpath(os.path.dirname(found.path)))
        if entry is None:
            named = self._by_folder.get(found.skill)
            own = found.root.personal and named is not None and not named.remote
            entry = named if named and (own or not named.path) else None
        return entry

    def unmatched(self, found: Iterable[ScannedSkill]) -> list[RegistryEntry]:
        """Return the entries that are about none of *found*."""
        matched = {id(entry) for each in found if (entry := self.of(each))}
        return [entry for entry in self._all if id(entry) not in matched]


def _settle(group: list[ScannedSkill], entries: _Entries) -> _Settled:
    """Judge the folders of one name, nearest first."""
    if len(group) == 1:
        return _Settled(_judge(group[0], entries))
    first, *others = group
    winner, *judged = (_judge(each, entries) for each in group)
    if isinstance(winner, Candidate):
        winner = winner._replace(hides=tuple(each.path for each in others))
    return _Settled(
        winner,
        tuple(shadowed(each, first.path) for each in others),
        tuple(each._replace(hidden_by=first.path) for each in judged if isinstance(each, Candidate)),
        tuple(_collisions(first, others, judged)),
    )


def _judge(found: ScannedSkill, entries: _Entries) -> Candidate | Skipped:
    entry = entries.of(found)
    return judge(found, entry.reading if entry else None)


def _collisions(
    first: ScannedSkill, others: list[ScannedSkill], judged: list[Candidate | Skipped]
) -> Iterator[Note]:
    for other, verdict in zip(others, judged, strict=True):
        if isinstance(verdict, Candidate):
            reason = f"`{in_quotes(first.skill)}` hides {other.path}, which accepts handoffs too"
            yield Note("HIDES_ELIGIBLE", reason, first.path)
        if other.root.personal and not first.root.personal:
            reason = (
                f"`{in_quotes(first.skill)}` is installed at {other.path} too: clients may start that one"
            )
            yield Note("CLIENT_PREFERS_PERSONAL", reason, first.path)


def _from_registry(entry: RegistryEntry, groups: Mapping[str, list[ScannedSkill]]) -> _Settled:
    """Judge an entry about no skill that was found: one that lives elsewhere, or is gone."""
    skipped = Skipped(entry.folder, Scope.REGISTRY, entry.path, "", "", entry.line, entry.name)
    if not entry.remote:
        return _Settled(
            skipped._replace(
                code="REGISTRY_STALE", reason=f"the registry names {entry.path}, which is not there"
            )
        )
    if entry.folder in groups:
        return _Settled(skipped._replace(code="SHADOWED", reason=f"hidden by {groups[entry.folder][0].path}"))
    root = Root("", Scope.REGISTRY, "registry")
    verdict = judge(ScannedSkill(entry.folder, entry.path, root, SkillFile(entry.reading)))
    return _Settled(verdict._replace(remote=True) if isinstance(verdict, Candidate) else verdict)


def _same_names(candidates: Iterable[Candidate]) -> Iterator[Note]:
    """Tell of names that several skills go by, be it a folder's or one that a skill calls itself."""
    called: dict[str, list[Candidate]] = {}
    for candidate in candidates:
        for name in {candidate.skill, candidate.name}:
            called.setdefault(name, []).append(candidate)
    for name, several in called.items():
        if len(several) > 1:
            folders = ", ".join(f"`{in_quotes(each.skill)}`" for each in several)
            yield Note("SAME_NAME", f"`{in_quotes(name)}` is what these go by: {folders}", several[0].path)


def _elsewhere(scanned: Scanned, registry: Registry) -> list[str]:
    """Return the files that the registry names outside of all places."""
    entries = _Entries(registry)
    return [entry.path for entry in entries.unmatched(scanned.found) if entry.present]
