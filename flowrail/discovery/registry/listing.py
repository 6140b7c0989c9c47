"""The workflows of the registry, each beside the skill that it is about."""

from __future__ import annotations

import os
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry_file import RegistryEntry


class RegistryRow(NamedTuple):
    """An entry of the registry, and the skill as it is offered, where it is.

    ``standing`` is one of ``offered``, ``hidden``, ``remote`` (offered, lives elsewhere), ``gone`` and
    ``not offered``; ``reason`` says why.
    """

    entry: RegistryEntry
    standing: str
    reason: str = ""
    candidate: Candidate | None = None

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON: the entry, and where each field of the skill was read."""
        return {
            **self.entry.data(),
            "standing": self.standing,
            "reason": self.reason,
            "origins": dict(self.candidate.origins if self.candidate else self.entry.reading.origins),
        }


def registered(discovery: Discovery) -> list[RegistryRow]:
    """Return every entry of the registry that could be read, in its order."""
    personal = frozenset(root.path for root in discovery.places.roots if root.personal)
    return [_standing(entry, discovery, personal) for entry in discovery.registry.entries]


def _standing(entry: RegistryEntry, discovery: Discovery, personal: frozenset[str]) -> RegistryRow:
    for candidate in (*discovery.candidates, *discovery.hidden):
        if _about(entry, candidate, personal):
            if candidate.hidden_by:
                return RegistryRow(entry, "hidden", f"by {candidate.hidden_by}", candidate)
            return RegistryRow(entry, "remote" if candidate.remote else "offered", "", candidate)
    passed = next((each for each in discovery.skipped if _about(entry, each, personal)), None)
    gone = passed is not None and passed.code == "REGISTRY_STALE"
    reason = passed.reason if passed else "nothing called so was found"
    return RegistryRow(entry, "gone" if gone else "not offered", reason)


def _about(entry: RegistryEntry, skill: Candidate | Skipped, personal: frozenset[str]) -> bool:
    """Whether *entry* is about *skill*: by its folder, or by its name if it is the user's own."""
    if skill.skill != entry.folder:
        return False
    folder = os.path.dirname(entry.path)
    if not entry.path or skill.path in {entry.path, folder}:
        return True
    same_folder = os.path.normpath(os.path.dirname(skill.path)) == folder
    return not entry.remote and (same_folder or skill.root in personal)
