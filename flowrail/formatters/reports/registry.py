"""What a sync of the registry did, as a person reads it."""

from __future__ import annotations

from flowrail.discovery.registry_sync import FieldChange, Sync
from flowrail.text.phrases import joined
from flowrail.text.report import FilePath, Report, line
from flowrail.text.safe_text import shortened, visible


def report(sync: Sync) -> Report:
    """Return what a sync did or would do, what it kept, and the difference."""
    names = joined((*sync.added, *sync.updated))
    idle = (
        "up to date" if sync.exists else "not written, because no skill in your home folder accepts handoffs"
    )
    done = "wrote" if sync.written else "would write" if sync.changes else idle
    yield line(FilePath(sync.path), f": {done}{names and f' {names}'}")
    for change in sync.replaced:
        yield f"  {_field(change)}: {_value(change.registry)} → {_value(change.declared)}"
    for change in sync.edited:
        kept = f"{_value(change.registry)}, which you edited; the skill declares {_value(change.declared)}"
        yield f"  kept {_field(change)}: {kept}"
    if sync.stale:
        yield f"  kept, though the skill is gone: {joined(sync.stale)}"
    if sync.changes and not sync.written:
        yield visible(sync.difference).rstrip("\n")


def _field(change: FieldChange) -> str:
    return f"{shortened(change.skill)}.{change.field}"


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(map(str, value))}]", 120)
    return "(nothing)" if value is None else shortened(str(value), 120)
