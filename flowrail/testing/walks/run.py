"""Play all walks of the given workflows, on a store in a temporary folder."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from flowrail.command import Command
from flowrail.discovery.locations import Root, Scope
from flowrail.errors import FlowError, TrustError
from flowrail.machines.definition.findings import WorkflowError
from flowrail.machines.exploration.coverage import Coverage, of_walks
from flowrail.machines.exploration.inputs import without_example
from flowrail.machines.exploration.walks import Plan, plan
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.sessions.store import Store
from flowrail.operations.environment import Environment
from flowrail.operations.skills.check import Progress
from flowrail.skills.catalog import find, named_root
from flowrail.storage.ownership import Owner
from flowrail.testing.walks.play import PlayedWalk, Player
from flowrail.testing.walks.stage import NAMED, Stage

_MEMORY = "/dev/shm"  # noqa: S108 - only a temporary folder of our own is created in it
_ENOUGH_MEMORY = 256 * 1024 * 1024
MOST_NAMED = 60
"""How many transitions without a walk are listed."""
PASSED, FAILED, SKIPPED = "passed", "failed", "not approved"


class WorkflowName(NamedTuple):
    """The name of a workflow on a command line: its address, or its path if the address finds another workflow.

    ``root`` is the folder for `--root`.
    """

    target: str = ""
    root: str | None = None

    def commands(self, played: PlayedWalk) -> list[Command]:
        """Return the command that repeats a walk, and the commands that the walk ran, without their store."""
        repeat = Command("test", self.target, root=self.root, walk=played.walk.name)
        ran = (
            Command(command.verb, *command.arguments).with_options(**command.options)
            for command in played.commands
        )
        return [repeat, *ran]

    def reproduction(self, played: PlayedWalk) -> list[str]:
        """Return the same for people, as lines."""
        whole, *commands = self.commands(played)
        heading = ["Its commands, with the ids of that run:"] if commands else []
        return [f"To repeat it: {whole}", *heading, *(f"  {command}" for command in commands)]


class WorkflowResult(NamedTuple):
    """The result of all walks of one workflow; ``reason`` is set if it could not be walked at all."""

    address: str
    status: str
    played: tuple[PlayedWalk, ...] = ()
    coverage: Coverage | None = None
    seconds: float = 0.0
    reason: str = ""
    unentered: tuple[str, ...] = ()
    name: WorkflowName = WorkflowName()
    is_part: bool = False
    """Whether the workflow is too large to walk all of it."""
    guessed: tuple[str, ...] = ()
    """The parameters and facts for which walks had to make up a value."""

    @property
    def gaps(self) -> str:
        """The transitions and steps without a walk, as a clause; empty without any."""
        missing = self.coverage.missing if self.coverage is not None else ()
        transitions = _first(f"`{outcome}` of `{step}`" for step, outcome in missing)
        steps = _first(f"`{step}`" for step in self.unentered)
        clauses = [f"takes {transitions}"] if transitions else []
        return " or ".join([*clauses, f"enters {steps}"] if steps else clauses)

    @property
    def failures(self) -> list[PlayedWalk]:
        """The walks that failed, shortest first."""
        return sorted((walk for walk in self.played if not walk.passed), key=lambda walk: len(walk.commands))

    @property
    def command_count(self) -> int:
        """How many commands were run."""
        return sum(len(walk.commands) for walk in self.played)


def run_walks(
    files: Sequence[WorkflowFile],
    environment: Environment,
    *,
    only: str | None = None,
    progress: Progress | None = None,
) -> Iterator[WorkflowResult]:
    """Yield the result of each workflow of *files*; *only* names one walk. Nothing is written to the project."""
    with stage_for(files, environment) as stage:
        player = Player(stage)
        for file in files:
            result = _workflow_result(player, file.address, only, progress)
            yield result._replace(name=name_of(file, environment.roots, environment.cwd))


def name_of(file: WorkflowFile, roots: Sequence[Root], cwd: str) -> WorkflowName:
    """Return how the workflow in *file* is named on a command line in *cwd*."""
    try:
        location = find(file.address, roots)
    except FlowError:
        location = None
    if location is not None and os.path.realpath(location.folder) == os.path.realpath(file.folder):
        root = named_root(location)
        return WorkflowName(file.address, _relative(root, cwd) if root else None)
    return WorkflowName(_relative(os.path.join(file.folder, file.path), cwd))


def _relative(path: str, cwd: str) -> str:
    """Return *path* relative to *cwd* if it is below it."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(cwd))
    return path if relative.startswith(os.pardir) else relative


def _memory() -> str | None:
    """Return a folder in memory if it has room: two thirds of the time of walks are flushes to the disk."""
    if not os.access(_MEMORY, os.W_OK | os.X_OK):
        return None
    status = os.statvfs(_MEMORY)
    return _MEMORY if status.f_bavail * status.f_frsize > _ENOUGH_MEMORY else None


@contextmanager
def stage_for(files: Iterable[WorkflowFile], environment: Environment) -> Iterator[Stage]:
    """Yield a stage for the workflows of *files*, with a temporary store."""
    roots = (*_roots_of(files, environment.roots), *environment.roots)
    with tempfile.TemporaryDirectory(prefix="flow-test-", dir=_memory()) as folder:
        store = os.path.join(folder, "store")
        staged = environment.replaced(
            store=Store(store, Owner(os.path.join(folder, "state"))),
            shown_store=store,
            roots=roots,
            loader=replace(environment.loader, roots=roots),
            conversation=None,
            by="flow test",
            demands_evidence=False,
        )
        yield Stage(staged)


def plan_walks(stage: Stage, address: str) -> tuple[Plan | None, WorkflowResult]:
    """Return the plan of a workflow, and a result without walks. Without a plan, the result has the reason."""
    try:
        workflow = stage.workflow(address)
    except TrustError as error:
        return None, WorkflowResult(address, SKIPPED, reason=f"{error.message}; {error.hint}")
    except (WorkflowError, FlowError) as error:
        return None, WorkflowResult(address, FAILED, reason=error.message)
    except Exception as error:  # noqa: BLE001 - an author's module may raise anything
        return None, WorkflowResult(address, FAILED, reason=f"{type(error).__name__}: {error}")
    planned = plan(workflow)
    if not planned.walks:
        return None, WorkflowResult(address, FAILED, reason="the workflow is too large to walk")
    covered = of_walks(workflow, planned.walks)
    return planned, WorkflowResult(
        address,
        PASSED,
        coverage=covered,
        unentered=planned.unentered,
        is_part=planned.is_part,
        guessed=tuple(without_example(workflow)),
    )


def _workflow_result(
    player: Player, address: str, only: str | None, progress: Progress | None
) -> WorkflowResult:
    started_at = time.monotonic()
    planned, result = plan_walks(player.stage, address)
    if planned is None:
        return result
    walks = [walk for walk in planned.walks if only is None or walk.name == only]
    played: list[PlayedWalk] = []
    for walk in walks:
        played.append(player.play(address, walk))
        if progress is not None:
            progress(address, len(played), len(walks))
    status = PASSED if all(walk.passed for walk in played) else FAILED
    return result._replace(status=status, played=tuple(played), seconds=time.monotonic() - started_at)


def _first(names: Iterable[str]) -> str:
    """Return the first names, and how many more there are."""
    listed = list(names)
    more = [f"{len(listed) - MOST_NAMED} more"] if len(listed) > MOST_NAMED else []
    return ", ".join([*listed[:MOST_NAMED], *more])


def _roots_of(files: Iterable[WorkflowFile], roots: Sequence[Root]) -> Iterator[Root]:
    """Yield the folders of skills that were named by path and are not found by their address.

    A folder without Python counts as the user's own, so that a copy of a skill can be tested under its name.
    """
    roots_seen: set[str] = set()
    for file in files:
        folder = os.path.realpath(file.folder)
        above = os.path.dirname(folder)
        if above in roots_seen:
            continue
        try:
            found_folder = os.path.realpath(find(file.address, roots).folder)
        except FlowError:
            found_folder = ""
        if found_folder != folder:
            roots_seen.add(above)
            yield Root(above, Scope.EXTRA, NAMED, personal=not _holds_python(above))


def _holds_python(above: str) -> bool:
    with os.scandir(above) as entries:
        return any(os.path.lexists(os.path.join(entry.path, "workflow.py")) for entry in entries)
