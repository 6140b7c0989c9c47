"""Check the registry: its errors, and its differences from the skills."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry_file import Registry, RegistryEntry, same_value
from flowrail.discovery.scan.eligibility import EDITED
from flowrail.text.safe_text import in_quotes

_COMPARED = (
    "categories",
    "accepts_from",
    "provides_to",
    "schema_version",
    "input_requirements",
    "output_types",
)


def check(discovery: Discovery) -> list[Note]:
    """Return everything to fix in the registry of *discovery*; nothing if there is no registry."""
    registry = discovery.registry
    if not registry.exists or any(note.code == "REGISTRY_UNREADABLE" for note in registry.notes):
        return list(registry.notes)
    return [
        *registry.notes,
        *(
            Note(skill.code, f"`{in_quotes(skill.skill)}`: {skill.reason}", skill.path, skill.line)
            for skill in discovery.skipped
            if skill.path == registry.path and skill.code != "SHADOWED"
        ),
        *_differences(discovery),
        *(_edited(registry, entry) for entry in registry.entries if entry.edited),
    ]


def _edited(registry: Registry, entry: RegistryEntry) -> Note:
    """Return the fields that a person edited since the last sync, and that win over the skill's own."""
    reason = f"`{in_quotes(entry.folder)}`: edited by hand: {', '.join(sorted(entry.edited))}"
    return Note("REGISTRY_EDITED", reason, registry.path, entry.line)


def _differences(discovery: Discovery) -> Iterator[Note]:
    path = discovery.registry.path
    personal = {root.path for root in discovery.places.roots if root.personal}
    for candidate in (*discovery.candidates, *discovery.hidden):
        if candidate.root not in personal:
            continue
        entry = discovery.described.get(candidate.path)
        if entry is None:
            yield Note("REGISTRY_MISSES", f"`{in_quotes(candidate.skill)}` is not in the registry", path)
        elif fields := _differing(candidate, entry):
            reason = f"`{in_quotes(candidate.skill)}` declares other values: {', '.join(fields)}"
            yield Note("REGISTRY_DIFFERS", reason, path, entry.line)


def _differing(candidate: Candidate, entry: RegistryEntry) -> list[str]:
    """Return the fields that the skill and the entry declare with different values."""
    declared = entry.reading.declared
    return [
        field
        for field in _COMPARED
        if field in declared
        and candidate.origins.get(field) not in {None, "registry", EDITED, "default"}
        and not same_value(declared[field], getattr(candidate, field))
    ]
