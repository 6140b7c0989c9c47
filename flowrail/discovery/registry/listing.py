"""The workflows of the registry, each with the skill that it describes."""

from __future__ import annotations

from typing import NamedTuple

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.registry_file import RegistryEntry


class RegistryRow(NamedTuple):
    """An entry of the registry, and the candidate that it describes, if any.

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
    return [_standing(entry, discovery) for entry in discovery.registry.entries]


def _standing(entry: RegistryEntry, discovery: Discovery) -> RegistryRow:
    def is_described(skill: Candidate | Skipped) -> bool:
        is_entry = skill.scope is Scope.REGISTRY and skill.skill == entry.folder
        return is_entry or discovery.described.get(skill.path) is entry

    for candidate in filter(is_described, (*discovery.candidates, *discovery.hidden)):
        if candidate.hidden_by:
            return RegistryRow(entry, "hidden", f"by {candidate.hidden_by}", candidate)
        return RegistryRow(entry, "remote" if candidate.remote else "offered", "", candidate)
    skipped = next(filter(is_described, discovery.skipped), None)
    gone = skipped is not None and skipped.code == "REGISTRY_STALE"
    reason = skipped.reason if skipped else "no skill of that name was found"
    return RegistryRow(entry, "gone" if gone else "not offered", reason)
