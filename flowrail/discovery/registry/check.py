"""What is wrong with the registry: mistakes in it, and where it tells otherwise than the skills do."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Scope
from flowrail.discovery.registry.schema import mistakes, unfit
from flowrail.discovery.registry_file import RegistryEntry
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
    """Return all there is to mend about the registry of *discovery*; nothing where there is none."""
    registry = discovery.registry
    if not registry.exists:
        return []
    try:
        data = files.read_bounded(registry.path, limit=limits.YAML_BYTES, what="the registry", follow=True)
        document = yaml_text.load(data, source=registry.path)
    except DocumentError:
        return list(registry.notes)  # they say why it cannot be read
    wrong = mistakes(document, local_skills(discovery))
    told = [note for note in registry.notes if note.code == "REGISTRY_DUPLICATE"]
    differing = _differences(discovery, _elsewhere(document))
    return [*wrong, *told, *_stale(discovery), *differing, *_count(document, discovery)]


def _stale(discovery: Discovery) -> Iterator[Note]:
    for each in discovery.skipped:
        if each.code == "REGISTRY_STALE":
            yield Note(
                each.code, f"`{in_quotes(each.skill)}`: {each.reason}", discovery.registry.path, each.line
            )


def local_skills(discovery: Discovery) -> frozenset[str]:
    """Return the names of all skills that lie here, whether or not they can take over work."""
    found = (*discovery.candidates, *discovery.hidden)
    passed = (each.skill for each in discovery.skipped if each.is_skill and each.scope is not Scope.REGISTRY)
    return frozenset({*(each.skill for each in found if not each.remote), *passed})


def _elsewhere(document: yaml_text.Document) -> frozenset[str]:
    """Return the names of entries that are said to live elsewhere, a local skill of the name or not."""
    items = document.value.get("workflows") if isinstance(document.value, dict) else None
    found = [each for each in items if isinstance(each, dict)] if isinstance(items, list) else []
    return frozenset(str(each.get("name")) for each in found if each.get("remote"))


def _differences(discovery: Discovery, elsewhere: Collection[str]) -> Iterator[Note]:
    path = discovery.registry.path
    personal = {root.path for root in discovery.places.roots if root.personal}
    entries = {
        entry.folder: entry
        for entry in discovery.registry.entries
        if not entry.remote or (not entry.path and entry.name not in elsewhere)
    }
    for candidate in (*discovery.candidates, *discovery.hidden):
        if candidate.root not in personal or unfit(candidate):
            continue
        entry = entries.get(candidate.skill)
        if entry is None:
            yield Note("REGISTRY_MISSES", f"`{in_quotes(candidate.skill)}` is not in the registry", path)
        elif fields := _differing(candidate, entry):
            reason = f"`{in_quotes(candidate.skill)}` declares otherwise: {', '.join(fields)}"
            yield Note("REGISTRY_DIFFERS", reason, path, entry.line)


def _differing(candidate: Candidate, entry: RegistryEntry) -> list[str]:
    """Return the fields that both declare, and differently; the skill's word counts."""
    said = entry.reading.declared._asdict()
    return [
        field
        for field in _COMPARED
        if said[field] is not None
        and candidate.origins.get(field) not in {None, "registry", "default"}
        and _comparable(said[field]) != _comparable(getattr(candidate, field))
    ]


def _comparable(value: object) -> object:
    return frozenset(value) if isinstance(value, tuple) else value


def _count(document: yaml_text.Document, discovery: Discovery) -> Iterator[Note]:
    meta = document.value.get("meta") if isinstance(document.value, dict) else None
    said = meta.get("total_workflows") if isinstance(meta, dict) else None
    items = document.value.get("workflows") if isinstance(document.value, dict) else None
    if isinstance(said, int) and isinstance(items, list) and said != len(items):
        reason = f"`total_workflows` is {said}, there are {len(items)}"
        line = document.line(("meta", "total_workflows"))
        yield Note("REGISTRY_COUNT", reason, discovery.registry.path, line)
