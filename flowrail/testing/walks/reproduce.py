"""The commands that repeat a walk: by its name, and one by one in a store of their own."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from flowrail.discovery.locations import Root
from flowrail.errors import FlowError
from flowrail.machines.definition.command_line import words_of
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.skills.catalog import find, named_root
from flowrail.testing.walks.play import Played

_WITHOUT_IDS = frozenset({"start", "step"})
"""What can be said of the one open session of a store, without its id."""


class Named(NamedTuple):
    """How a workflow is named on a command line: by its address, or by a path where that leads elsewhere."""

    words: tuple[str, ...]
    is_path: bool = False


class Repeat(NamedTuple):
    """A walk to be done again: ``again`` as a whole, ``lines`` one by one; as they ran where not ``typed``."""

    again: str
    lines: tuple[str, ...]
    typed: bool

    @property
    def commands(self) -> list[str]:
        """All of them, the whole first."""
        return [self.again, *self.lines]

    @property
    def told(self) -> list[str]:
        """The same for people."""
        by_hand = "Or by hand:" if self.typed else "What it did, with the ids of that run:"
        lines = [by_hand, *(f"  {line}" for line in self.lines)] if self.lines else []
        return [f"To repeat it: {self.again}", *lines]


def named(file: WorkflowFile, roots: Sequence[Root], cwd: str) -> Named:
    """Return how one who stands in *cwd* names the workflow in *file*."""
    try:
        found = find(file.address, roots)
    except FlowError:
        found = None
    if found is not None and os.path.realpath(found.folder) == os.path.realpath(file.folder):
        root = named_root(found)
        return Named((file.address, *(("--root", _near(root, cwd)) if root else ())))
    return Named((_near(os.path.join(file.folder, file.path), cwd),), is_path=True)


def repeat(place: Named, played: Played) -> Repeat:
    """Return the commands that repeat a walk, with the walk's own name first."""
    again = shlex.join(["flow", "test", *place.words, "--walk", played.walk.name])
    lines = [words_of(turn.command) for turn in played.turns]
    typed = not place.is_path and all(words[1] in _WITHOUT_IDS for words in lines)
    if typed:
        store = _store(lines)
        lines = [[*_without(words), *place.words[1:], "--store", store] for words in lines]
    return Repeat(again, tuple(shlex.join(words) for words in lines), typed)


def _without(words: Sequence[str]) -> list[str]:
    """Return a command without the session and the store that it was about."""
    gone = {at for at, word in enumerate(words) if word in {"--session", "--store"}}
    return [word for at, word in enumerate(words) if at not in gone and at - 1 not in gone]


def _store(lines: Sequence[Sequence[str]]) -> str:
    """Return the name of a store that nobody has yet: that of the folder which was thrown away."""
    kept = next((words[at + 1] for words in lines for at, word in enumerate(words) if word == "--store"), "")
    return os.path.basename(os.path.dirname(kept)) or "flow-test"


def _near(path: str, cwd: str) -> str:
    """Return *path* as it is typed in *cwd*."""
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(cwd))
    return path if inside.startswith(os.pardir) else inside
