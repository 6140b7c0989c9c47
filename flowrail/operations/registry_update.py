"""Update the registry, the optional file that adds what a skill cannot declare itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flowrail.discovery.index import discover
from flowrail.discovery.registry_sync import FieldChange, Sync, apply, plan
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.text.phrases import joined
from flowrail.text.report import FilePath, Report, line
from flowrail.text.safe_text import shortened, visible


@dataclass(frozen=True)
class SyncedRegistry(Sync):
    """A sync of the registry, or a check of what one would change."""

    checked: bool = False
    """Whether the sync was only checked."""

    @property
    def exit_status(self) -> int:
        """1 if a check found that the registry is not up to date."""
        return int(self.checked and self.changes)

    def report(self) -> Report:
        """Return what a person reads."""
        names = joined((*self.added, *self.updated))
        idle = (
            "up to date"
            if self.exists
            else "not written, because no skill in your home folder accepts handoffs"
        )
        done = "wrote" if self.written else "would write" if self.changes else idle
        yield line(FilePath(self.path), f": {done}{names and f' {names}'}")
        for change in self.replaced:
            yield f"  {_field(change)}: {_value(change.registry)} → {_value(change.declared)}"
        for change in self.edited:
            kept = (
                f"{_value(change.registry)}, which you edited; the skill declares {_value(change.declared)}"
            )
            yield f"  kept {_field(change)}: {kept}"
        if self.stale:
            yield f"  kept, though the skill is gone: {joined(self.stale)}"
        if self.changes and not self.written:
            yield visible(self.difference).rstrip("\n")


@operation("registry sync", "flow registry sync --check")
def sync(
    environment: Environment,
    *,
    check: Annotated[
        bool, Help("Write nothing; show the difference, and exit 1 if the registry is not up to date.")
    ] = False,
) -> SyncedRegistry:
    """Update the registry from the skills in your home folder

    Comments, order, entries and values that a person wrote stay. Values that a sync wrote are replaced
    if the skill declares others; they are listed. The result is checked before it replaces the file.
    """
    discovery = discover(environment.cwd, environment.home, environment.environ)
    planned = plan(discovery, home=environment.home, now=environment.moment)
    return SyncedRegistry(**vars(planned.sync if check else apply(planned)), checked=check)


def _field(change: FieldChange) -> str:
    return f"{shortened(change.skill)}.{change.field}"


def _value(value: object) -> str:
    if isinstance(value, list | tuple):
        return shortened(f"[{', '.join(map(str, value))}]", 120)
    return "(nothing)" if value is None else shortened(str(value), 120)
