"""Update the registry, the optional file that adds what a skill cannot declare itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from flowrail.discovery.index import discover
from flowrail.discovery.registry_sync import Sync, apply, plan
from flowrail.formatters.reports import registry as page
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.text.report import Report


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
        return page.report(self)


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
