"""The registry of workflows: its entries, a sync, and a check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from flowrail.discovery.diagnostics import Note
from flowrail.discovery.registry.listing import RegistryRow
from flowrail.discovery.registry_file import Registry
from flowrail.formatters.reports.notes import notes, position
from flowrail.text.phrases import count, joined
from flowrail.text.safe_text import shortened, visible

if TYPE_CHECKING:
    from flowrail.discovery.registry.sync import Sync


def render(registry: Registry, workflows: Sequence[RegistryRow]) -> str:
    """Return the workflows of the registry, where they are, and where each field comes from."""
    if not registry.exists:
        return f"No registry at {shortened(registry.path)}. It is optional: `flow registry sync` makes one."
    parts = [f"{shortened(registry.path)} · {count(len(workflows), 'workflow')}", *map(_workflow, workflows)]
    return "\n\n".join(filter(None, [*parts, notes(registry.notes)]))


def data(registry: Registry, workflows: Iterable[RegistryRow]) -> dict[str, object]:
    """Return the same as plain data."""
    return {**registry.data(), "workflows": [workflow.data() for workflow in workflows]}


def render_sync(sync: Sync, *, written: bool) -> str:
    """Return what a sync did or would do, and the difference."""
    path = shortened(sync.path)
    if not sync.changes:
        head = f"{path} is up to date" if sync.before is not None else f"nothing to write to {path}"
        return "\n".join([f"{head}: no skill in your home folder declares anything new.", *_kept(sync)])
    named = [
        f"{what} {joined(names)}"
        for what, names in (("adds", sync.added), ("updates", sync.updated))
        if names
    ]
    named += ["counts its entries"] if sync.recounted and not sync.added else []
    head = f"{'Wrote' if written else 'Would write'} {path}: {', '.join(named)}."
    lines = [
        f"  {shortened(change.skill)}.{change.field}: {_value(change.registry)} → {_value(change.declared)}"
        for change in sync.replaced
    ]
    parts = ["\n".join([head, *lines, *_kept(sync)])]
    if not written:
        parts.append(visible(sync.difference).rstrip("\n"))
    return "\n\n".join(parts)


def sync_data(sync: Sync, *, written: bool) -> dict[str, object]:
    """Return the same as plain data."""
    return {
        "path": sync.path,
        "changes": sync.changes,
        "written": written,
        "added": list(sync.added),
        "updated": list(sync.updated),
        "replaced": [change._asdict() for change in sync.replaced],
        "edited": [change._asdict() for change in sync.edited],
        "removed": list(sync.removed),
        "stale": list(sync.stale),
        "left_out": list(sync.left_out),
        "difference": sync.difference,
    }


def render_check(registry: Registry, found: Sequence[Note]) -> str:
    """Return the findings about the registry."""
    if not registry.exists:
        return f"No registry at {shortened(registry.path)}. It is optional."
    lines = [
        f"{shortened(note.place)}: {note.severity} {note.code}: {shortened(note.reason)}\n    {note.hint}"
        for note in found
    ]
    return "\n".join([*lines, f"{shortened(registry.path)} checked, {len(found) or 'nothing'} found"])


def check_data(registry: Registry, found: Iterable[Note]) -> dict[str, object]:
    """Return the same as plain data."""
    return {
        "findings": [note.data() for note in found],
        "path": registry.path,
        "exists": registry.exists,
    }


def _workflow(row: RegistryRow) -> str:
    entry, said = row.entry, row.entry.reading.declared
    reason = f", {shortened(row.reason)}" if row.reason else ""
    lines = [f"{shortened(entry.folder, 80)}  {row.standing}{reason}"]
    lines += [f"  {shortened(text)}" for text in (said.description or said.summary,) if text]
    lines.append(f"  {shortened(entry.path) or 'no path'}{position(f'line {entry.line}')}")
    origins = row.candidate.origins if row.candidate else entry.reading.origins
    lines += [f"  from {source}: {joined(fields)}" for source, fields in _by_source(origins).items()]
    return "\n".join(lines)


def _by_source(origins: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the fields by their source: the skill, the registry, or the defaults."""
    names = {"": "its SKILL.md", "registry": "the registry", "default": "the defaults"}
    found: dict[str, list[str]] = {name: [] for name in names.values()}
    for field, origin in origins.items():
        found[names.get(origin, names[""])].append(field)
    return {name: fields for name, fields in found.items() if fields}


def _kept(sync: Sync) -> list[str]:
    """Return what a sync leaves as it is: edits by a person, entries without a skill, skills that it cannot add."""
    lines: list[str] = []
    if sync.edited:
        lines.append("Kept, because you edited it (`--replace SKILL.FIELD` takes the skill's value):")
        lines += [
            f"  {shortened(change.skill)}.{change.field}: {_value(change.registry)}; "
            f"the skill declares {_value(change.declared)}"
            for change in sync.edited
        ]
    if sync.removed:
        lines.append(
            f"Not added again, because you removed them: {joined(sync.removed)} (`--replace SKILL` adds one)."
        )
    return [*lines, *_stale(sync), *_left_out(sync)]


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(map(str, value))}]", 120)
    return "(nothing)" if value is None else shortened(str(value), 120)


def _left_out(sync: Sync) -> list[str]:
    if not sync.left_out:
        return []
    return [
        "Left out, because the registry cannot hold what they declare:",
        *(f"  {shortened(entry)}" for entry in sync.left_out),
    ]


def _stale(sync: Sync) -> list[str]:
    if not sync.stale:
        return []
    return [
        f"Kept, though the skill is gone: {joined(sync.stale)}. Remove the entry, or fix its `skill_path`."
    ]
