"""The commands that repeat a walk: one for the whole walk, and one for each of its moves."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from flowrail.discovery.locations import Root
from flowrail.errors import FlowError
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.skills.catalog import find, named_root
from flowrail.testing.walks.play import PlayedWalk

_WITHOUT_IDS = frozenset({"start", "step"})
"""Commands that find the only open session of a store without its id."""


class WorkflowName(NamedTuple):
    """How a workflow is named on a command line: by its address, or by its path if the address finds another."""

    words: tuple[str, ...]
    is_path: bool = False


class Reproduction(NamedTuple):
    """Commands that repeat a walk: ``whole`` repeats all of it, ``lines`` are its commands.

    If ``by_hand`` is false, the lines hold ids of the recorded run and cannot be typed again.
    """

    whole: str
    lines: tuple[str, ...]
    by_hand: bool

    @property
    def commands(self) -> list[str]:
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
        return WorkflowName((file.address, *(("--root", _relative(root, cwd)) if root else ())))
    return WorkflowName((_relative(os.path.join(file.folder, file.path), cwd),), is_path=True)


def reproduction(name: WorkflowName, played: PlayedWalk) -> Reproduction:
    """Return the commands that repeat a walk."""
    whole = shlex.join(["flow", "test", *name.words, "--walk", played.walk.name])
    lines = [shlex.split(command.command) for command in played.commands]
    by_hand = not name.is_path and all(words[1] in _WITHOUT_IDS for words in lines)
    if by_hand:
        store = _store_name(lines)
        lines = [[*_without_ids(words), *name.words[1:], "--store", store] for words in lines]
    return Reproduction(whole, tuple(shlex.join(words) for words in lines), by_hand)


def _without_ids(words: Sequence[str]) -> list[str]:
    """Return a command without `--session` and `--store`."""
    options = {position for position, word in enumerate(words) if word in {"--session", "--store"}}
    return [
        word for position, word in enumerate(words) if position not in options and position - 1 not in options
    ]


def _store_name(lines: Sequence[Sequence[str]]) -> str:
    """Return a name for a new store: that of the temporary folder of the run."""
    path = next(
        (words[position + 1] for words in lines for position, word in enumerate(words) if word == "--store"),
        "",
    )
    return os.path.basename(os.path.dirname(path)) or "flow-test"


def _relative(path: str, cwd: str) -> str:
    """Return *path* relative to *cwd* if it is below it."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(cwd))
    return path if relative.startswith(os.pardir) else relative
