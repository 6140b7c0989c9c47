"""The registry of workflows: a sync and a check."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from flowrail.discovery.diagnostics import Note
from flowrail.discovery.registry_file import Registry
from flowrail.text.phrases import count, joined
from flowrail.text.report import FilePath, Line, Report, line, paragraphs, status
from flowrail.text.safe_text import shortened, visible

if TYPE_CHECKING:
    from flowrail.discovery.registry.sync import Sync


def sync_report(sync: Sync, *, written: bool) -> Report:
    """Return what a sync did or would do, and the difference."""
    path = FilePath(sync.path)
    if not sync.changes:
        ending = ": no skill in your home folder declares anything new."
        has_file = sync.before is not None
        head = (
            line(path, " is up to date", ending) if has_file else line("nothing to write to ", path, ending)
        )
        return [head, *_unchanged_lines(sync)]
    changes = [
        f"{verb} {joined(names)}"
        for verb, names in (("adds", sync.added), ("updates", sync.updated))
        if names
    ]
    head = line("Wrote " if written else "Would write ", path, f": {', '.join(changes)}.")
    lines = [
        f"  {shortened(change.skill)}.{change.field}: {_value(change.registry)} → {_value(change.declared)}"
        for change in sync.replaced
    ]
    difference = [] if written else [visible(sync.difference).rstrip("\n")]
    return paragraphs([head, *lines, *_unchanged_lines(sync)], difference)


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
        "difference": sync.difference,
    }


def check_report(registry: Registry, findings: Sequence[Note]) -> Report:
    """Return the findings about the registry."""
    if not registry.exists:
        return [line("No registry at ", FilePath(registry.path), ". It is optional.")]
    lines: list[str | Line] = []
    for note in findings:
        head = line(
            f"{shortened(note.place)}: ", status(note.severity), f" {note.code}: {shortened(note.reason)}"
        )
        lines += [head, f"    {note.hint}"]
    return [
        *lines,
        line(
            FilePath(registry.path),
            " checked, ",
            count(len(findings), "finding") if findings else "nothing found",
        ),
    ]


def check_data(registry: Registry, findings: Iterable[Note]) -> dict[str, object]:
    """Return the same as plain data."""
    return {
        "findings": [note.data() for note in findings],
        "path": registry.path,
        "exists": registry.exists,
    }


def _unchanged_lines(sync: Sync) -> list[str]:
    """Return the entries that a sync does not change: edits by a person, entries without a skill."""
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
    if sync.stale:
        stale = joined(sync.stale)
        lines.append(f"Kept, though the skill is gone: {stale}. Remove the entry, or fix its `skill_path`.")
    return lines


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(map(str, value))}]", 120)
    return "(nothing)" if value is None else shortened(str(value), 120)
