"""The command that repeats a walk, and the commands that the walk ran."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from flowrail.command import Command
from flowrail.discovery.locations import Root
from flowrail.errors import FlowError
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.skills.catalog import find, named_root
from flowrail.testing.walks.play import PlayedWalk


class WorkflowName(NamedTuple):
    """How a workflow is named on a command line: by its address, or by its path if the address finds another.

    ``root`` is the folder that `--root` has to name.
    """

    target: str = ""
    root: str | None = None


class Reproduction(NamedTuple):
    """``whole`` repeats a walk; ``lines`` are its commands as they ran, with the ids of that run."""

    whole: Command
    lines: tuple[Command, ...]

    @property
    def commands(self) -> list[Command]:
        """All commands, the one for the whole walk first."""
        return [self.whole, *self.lines]

    @property
    def text(self) -> list[str]:
        """The commands with headings, for people."""
        heading = "Its commands, with the ids of that run:"
        lines = [heading, *(f"  {line}" for line in self.lines)] if self.lines else []
        return [f"To repeat it: {self.whole}", *lines]


def name_of(file: WorkflowFile, roots: Sequence[Root], cwd: str) -> WorkflowName:
    """Return how the workflow in *file* is named on a command line in *cwd*."""
    try:
        found = find(file.address, roots)
    except FlowError:
        found = None
    if found is not None and os.path.realpath(found.folder) == os.path.realpath(file.folder):
        root = named_root(found)
        return WorkflowName(file.address, _relative(root, cwd) if root else None)
    return WorkflowName(_relative(os.path.join(file.folder, file.path), cwd))


def reproduction(name: WorkflowName, played: PlayedWalk) -> Reproduction:
    """Return the commands that repeat a walk."""
    whole = Command("test", name.target, root=name.root, walk=played.walk.name)
    return Reproduction(whole, tuple(entry.command for entry in played.commands))


def _relative(path: str, cwd: str) -> str:
    """Return *path* relative to *cwd* if it is below it."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(cwd))
    return path if relative.startswith(os.pardir) else relative
