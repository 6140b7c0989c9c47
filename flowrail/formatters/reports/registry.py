"""What a sync of the registry did, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.discovery.registry_sync import FieldChange, Sync
from flowrail.text.phrases import joined
from flowrail.text.report import FilePath, Report, line, paragraphs
from flowrail.text.safe_text import shortened, visible


def report(sync: Sync) -> Report:
    """Return what a sync did or would do, and the difference."""
    path = FilePath(sync.path)
    if not sync.changes:
        if not sync.exists:
            return [line("nothing to write to ", path, ": no skill in your home folder accepts handoffs.")]
        ending = " is up to date: no skill in your home folder declares anything new."
        return [line(path, ending), *_unchanged(sync)]
    changes = [
        f"{verb} {joined(names)}"
        for verb, names in (("adds", sync.added), ("updates", sync.updated))
        if names
    ]
    return paragraphs(
        [
            line("Wrote " if sync.written else "Would write ", path, f": {', '.join(changes)}."),
            *(
                f"  {_field(change)}: {_value(change.registry)} → {_value(change.declared)}"
                for change in sync.replaced
            ),
            *_unchanged(sync),
        ],
        [] if sync.written else [visible(sync.difference).rstrip("\n")],
    )


def _unchanged(sync: Sync) -> Iterator[str]:
    """Yield the entries that a sync does not change: edits by a person, entries without a skill."""
    if sync.edited:
        yield "Kept, because you edited it (remove the value, and the next sync writes the skill's):"
        for change in sync.edited:
            yield f"  {_field(change)}: {_value(change.registry)}; the skill declares {_value(change.declared)}"
    if sync.stale:
        stale = joined(sync.stale)
        yield f"Kept, though the skill is gone: {stale}. Remove the entry, or fix its `skill_path`."


def _field(change: FieldChange) -> str:
    return f"{shortened(change.skill)}.{change.field}"


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(map(str, value))}]", 120)
    return "(nothing)" if value is None else shortened(str(value), 120)
