"""The workflows that stand beside one that is checked: of each what others have to know of it, and no more.

Each is read once, whoever asks, and what is kept of all together is little: a folder may hold many large ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.errors import DocumentError
from flowrail.machines.definition.values import Arg
from flowrail.machines.loading import skill_folder
from flowrail.machines.loading.skill_folder import Loaded, WorkflowFile
from flowrail.skills.catalog import Skill, workflows
from flowrail.text.phrases import listed

MOST_KEPT = 60_000
"""So many parameters and paths are kept of workflows; then they are read again."""


class Beside(NamedTuple):
    """What others have to know of a workflow: its parameters, and which texts it tells."""

    address: str
    params: Mapping[str, Arg]
    required: tuple[str, ...]
    takes: str
    """Which parameters there are, in words."""
    files: frozenset[str]
    is_known: bool
    """Whether its parameters are: some file cannot be read, some Python is computed."""
    has_steps: bool


class Shelf:
    """Gives what has to be known of workflows, each of which is read once."""

    def __init__(self) -> None:
        self._known: dict[WorkflowFile, Beside | None] = {}
        self._left = MOST_KEPT
        self._folder = ("", "")
        self._files: dict[str, WorkflowFile] = {}

    def files(self, skill: str, folder: str) -> Mapping[str, WorkflowFile]:
        """Return the workflows of a folder by address, looked up once for all that stand in it one behind the other."""
        if (skill, folder) != self._folder:
            self._files = {each.address: each for each in workflows(Skill(skill, folder, "path"))}
            self._folder = (skill, folder)
        return self._files

    def get(self, file: WorkflowFile) -> Beside | None:
        """Return what is to be known of the workflow in *file*, or `None` where the file cannot be read."""
        if file not in self._known:
            try:
                self.put(file, skill_folder.read(file))
            except DocumentError:
                self._keep(file, None)
        return self._known[file]

    def put(self, file: WorkflowFile, loaded: Loaded) -> None:
        """Keep what has to be known of a workflow that was read already."""
        self._keep(file, _of(loaded))

    def _keep(self, file: WorkflowFile, beside: Beside | None) -> None:
        self._left -= 1 + (len(beside.params) + len(beside.files) if beside is not None else 0)
        if self._left < 0:
            self._known.clear()
            self._left = MOST_KEPT
        self._known[file] = beside

    def by(self, file: WorkflowFile) -> Beside | None:
        """Return the same, or `None` where nothing of its steps can be read either."""
        beside = self.get(file)
        return beside if beside is not None and beside.has_steps else None


def _of(loaded: Loaded) -> Beside:
    params = loaded.definition.params
    return Beside(
        loaded.definition.name,
        params,
        tuple(name for name, arg in params.items() if arg.required),
        f"it takes {listed(params) or 'none'}",
        frozenset(loaded.files),
        all(finding.code not in {"FR100", "FR190"} for finding in loaded.findings),
        bool(loaded.definition.steps),
    )
