"""Check the registry: its errors, and its differences from the skills."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.registry.schema import mistakes
from flowrail.discovery.registry_file import Registry, RegistryEntry, same_value
from flowrail.discovery.scan.eligibility import EDITED
from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.text import limits
from flowrail.text import yaml as yaml_text
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
    if not registry.exists:
        return []
    try:
        data = files.read_bounded(registry.path, limit=limits.YAML_BYTES, what="the registry", follow=True)
        document = yaml_text.load(data, source=registry.path)
    except DocumentError:
        return list(registry.notes)  # the notes say why it cannot be read
    stale = (skill for skill in discovery.skipped if skill.code == "REGISTRY_STALE")
    return [
        *mistakes(document, local_skills(discovery)),
        *(note for note in registry.notes if note.code == "REGISTRY_DUPLICATE"),
        *(
            Note(skill.code, f"`{in_quotes(skill.skill)}`: {skill.reason}", registry.path, skill.line)
            for skill in stale
        ),
        *_differences(discovery),
        *(_edited(registry, entry) for entry in registry.entries if entry.edited),
    ]


def _edited(registry: Registry, entry: RegistryEntry) -> Note:
    """Return the fields that a person edited since the last sync, and that win over the skill's own."""
    reason = f"`{in_quotes(entry.folder)}`: edited by hand: {', '.join(sorted(entry.edited))}"
    return Note("REGISTRY_EDITED", reason, registry.path, entry.line)


def local_skills(discovery: Discovery) -> frozenset[str]:
    """Return the names of all skills on this machine, whether or not they can take over work."""
    candidates = (*discovery.candidates, *discovery.hidden)
    skipped = (s.skill for s in discovery.skipped if s.is_skill and s.scope is not Scope.REGISTRY)
    return frozenset({*(candidate.skill for candidate in candidates if not candidate.remote), *skipped})


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
