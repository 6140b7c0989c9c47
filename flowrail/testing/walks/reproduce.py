"""The commands that repeat a walk: one for the whole walk, and one for each of its moves."""

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

_WITHOUT_SESSION = frozenset({"start", "step"})
"""Commands that find the only open session of a store without its id."""


class WorkflowName(NamedTuple):
    """How a workflow is named on a command line: by its address, or by its path if the address finds another.

    ``root`` is the folder that `--root` has to name.
    """

    target: str = ""
    root: str | None = None
    is_path: bool = False


class Reproduction(NamedTuple):
    """Commands that repeat a walk: ``whole`` repeats all of it, ``lines`` are its commands.

    If ``by_hand`` is false, the lines hold ids of the recorded run and cannot be typed again.
    """

    whole: Command
    lines: tuple[Command, ...]
    by_hand: bool

    @property
    def commands(self) -> list[Command]:
        """All commands, the one for the whole walk first."""
        return [self.whole, *self.lines]

    @property
    def text(self) -> list[str]:
        """The commands with headings, for people."""
        heading = "Or by hand:" if self.by_hand else "Its commands, with the ids of that run:"
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
    return WorkflowName(_relative(os.path.join(file.folder, file.path), cwd), is_path=True)


def reproduction(name: WorkflowName, played: PlayedWalk) -> Reproduction:
    """Return the commands that repeat a walk."""
    whole = Command("test", name.target, root=name.root, walk=played.walk.name)
    lines = [entry.command for entry in played.commands]
    by_hand = not name.is_path and all(command.verb in _WITHOUT_SESSION for command in lines)
    if by_hand:
        store = _store_name(lines)
        lines = [_without_ids(command, name.root, store) for command in lines]
    return Reproduction(whole, tuple(lines), by_hand)


def _without_ids(command: Command, root: str | None, store: str) -> Command:
    """Return a command for the only session of *store*."""
    options = {**command.options, "session": None, "root": root}
    return Command(command.verb, *command.arguments, store=store, **options)


def _store_name(commands: Sequence[Command]) -> str:
    """Return a name for a new store: that of the temporary folder of the run."""
    path = next((command.store for command in commands if command.store), "")
    return os.path.basename(os.path.dirname(path)) or "flow-test"


def _relative(path: str, cwd: str) -> str:
    """Return *path* relative to *cwd* if it is below it."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(cwd))
    return path if relative.startswith(os.pardir) else relative
