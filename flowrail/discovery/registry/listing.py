"""The workflows of the registry, each with the skill that it describes."""

from __future__ import annotations

import os
from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry_file import RegistryEntry


class RegistryRow(NamedTuple):
    """An entry of the registry, and the skill as it is offered, if it is.

    ``standing`` is ``offered``, ``hidden``, ``remote`` (offered, in another place), ``gone`` or ``not offered``;
    ``reason`` says why.
    """

    entry: RegistryEntry
    standing: str
    reason: str = ""
    candidate: Candidate | None = None

    def data(self) -> dict[str, object]:
        """Return the row as plain data, for JSON: the entry, and the origin of each field of the skill."""
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
    skipped = next((skill for skill in discovery.skipped if _about(entry, skill, personal)), None)
    gone = skipped is not None and skipped.code == "REGISTRY_STALE"
    reason = skipped.reason if skipped else "no skill of that name was found"
    return RegistryRow(entry, "gone" if gone else "not offered", reason)


def _about(entry: RegistryEntry, skill: Candidate | Skipped, personal: frozenset[str]) -> bool:
    """Whether *entry* describes *skill*: by its folder, or by its name if the skill is in the user's home."""
    if skill.skill != entry.folder:
        return False
    folder = os.path.dirname(entry.path)
    if not entry.path or skill.path in {entry.path, folder}:
        return True
    same_folder = os.path.normpath(os.path.dirname(skill.path)) == folder
    return not entry.remote and (same_folder or skill.root in personal)
