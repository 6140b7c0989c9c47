"""All walks of all workflows that were asked for, played on a store in a folder that is thrown away."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple, Protocol

from flowrail.discovery.locations import Root, Scope
from flowrail.errors import FlowError, TrustError
from flowrail.machines.definition.findings import WorkflowError
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.exploration.walks import Plan, Walk, plan
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.sessions.store import Store
from flowrail.machines.sessions.user_key import Owner
from flowrail.operations.running.steps import World
from flowrail.operations.skills.coverage import Coverage, of_walks
from flowrail.skills.catalog import find
from flowrail.testing.walks.play import EnoughError, Played, Player
from flowrail.testing.walks.reproduce import Named, named
from flowrail.testing.walks.stage import NAMED, Inside, Stage

MEMORY = "/dev/shm"  # noqa: S108 - a folder of our own is made in it, and taken away
ENOUGH_ROOM = 256 * 1024 * 1024
MOST_COMMANDS = 20_000
"""For the walks of one workflow together; the bundled ones take a thousand at most."""
STEPS = 40
"""So many steps of a workflow cost each command as much as a command costs: all of it is read each time."""
TOO_LARGE = "the workflow is too large for any walk through it"
MOST_NAMED = 60
"""So many of the ways that no walk takes are named; `flow coverage` shows all."""
PASSED, FAILED, SKIPPED = "passed", "failed", "skipped"


class Rehearsed(NamedTuple):
    """What became of one workflow; ``why`` tells of one that could not be walked at all."""

    address: str
    status: str
    played: tuple[Played, ...] = ()
    coverage: Coverage | None = None
    seconds: float = 0.0
    why: str = ""
    unentered: tuple[str, ...] = ()
    place: Named = Named(())
    is_part: bool = False
    """Whether the workflow is too large for all of it to be walked."""

    @property
    def gaps(self) -> str:
        """What no walk does, in words; empty where the walks do all there is."""
        missing = self.coverage.missing if self.coverage is not None else ()
        taken = _first(f"{step} {outcome}" for step, outcome in missing)
        entered = _first(self.unentered)
        said = [f"takes {taken}"] if taken else []
        return " or ".join([*said, f"enters {entered}"] if entered else said)

    @property
    def failures(self) -> list[Played]:
        """The walks that went wrong, shortest first."""
        return sorted((each for each in self.played if not each.ok), key=lambda each: len(each.turns))

    @property
    def moves(self) -> int:
        """How many commands were run."""
        return sum(len(each.turns) for each in self.played)


class Watcher(Protocol):
    """Is told how far things are."""

    def __call__(self, address: str, done: int, total: int) -> None:
        """Take note of *done* walks of *total*."""


MakeStage = Callable[[World], Stage]


def rehearse(
    files: Sequence[WorkflowFile],
    roots: Sequence[Root],
    state: str,
    *,
    cwd: str,
    now: Callable[[], str],
    call: Call = call_plainly,
    only: str | None = None,
    make_stage: MakeStage | None = None,
    watch: Watcher | None = None,
) -> Iterator[Rehearsed]:
    """Yield what became of each workflow of *files*; *only* names one walk.

    *state* is the user's state folder, which tells what may run; nothing is written there. Commands are told as
    one types them in *cwd*. *make_stage* gives another stage than this process.
    """
    with stage_for(files, roots, state, now=now, call=call, make_stage=make_stage) as stage:
        player = Player(stage, thorough=make_stage is not None)
        for file in files:
            result = _rehearsed(stage, player, file.address, call, only, watch)
            yield result._replace(place=named(file, roots, cwd))


@contextmanager
def stage_for(
    files: Iterable[WorkflowFile],
    roots: Sequence[Root],
    state: str,
    *,
    now: Callable[[], str],
    call: Call = call_plainly,
    make_stage: MakeStage | None = None,
) -> Iterator[Stage]:
    """Give a stage on which the workflows of *files* can be played, on a store that is thrown away."""
    with tempfile.TemporaryDirectory(prefix="flow-test-", dir=_in_memory()) as folder:
        store = os.path.join(folder, "store")
        world = World(
            store=Store(store, Owner(os.path.join(folder, "state"))),
            roots=(*_more_roots(files, roots), *roots),
            state=state,
            now=now,
            by="flow test",
            shown_store=store,
        )
        yield make_stage(world) if make_stage else Inside(world, call=call)


def planned(workflow_of: Callable[[str], Any], address: str, call: Call) -> tuple[Plan | None, Rehearsed]:
    """Return the walks of a workflow, or what kept it from being walked."""
    try:
        workflow = workflow_of(address)
    except TrustError as error:
        return None, Rehearsed(address, SKIPPED, why=f"{error.message}; {error.hint}")
    except (WorkflowError, FlowError) as error:
        return None, Rehearsed(address, FAILED, why=error.message)
    except Exception as error:  # noqa: BLE001 - an author's module may raise anything
        return None, Rehearsed(address, FAILED, why=f"{type(error).__name__}: {error}")
    made = plan(workflow, call=call)
    if not made.walks:
        return None, Rehearsed(address, FAILED, why=TOO_LARGE)
    covered = of_walks(workflow, made.walks)
    return made, Rehearsed(address, PASSED, coverage=covered, unentered=made.unentered, is_part=made.is_part)


def _rehearsed(
    stage: Stage, player: Player, address: str, call: Call, only: str | None, watch: Watcher | None
) -> Rehearsed:
    began = time.monotonic()
    made, result = planned(stage.workflow, address, call)
    if made is None:
        return result
    walks: list[Walk] = [walk for walk in made.walks if only is None or walk.name == only]
    played: list[Played] = []
    player.left = MOST_COMMANDS // (1 + stage.workflow(address).total_steps // STEPS)
    with suppress(EnoughError):
        for walk in walks:
            played.append(player.play(address, walk))
            if watch is not None:
                watch(address, len(played), len(walks))
    if len(played) < len(walks):
        covered = of_walks(stage.workflow(address), (each.walk for each in played))
        result = result._replace(coverage=covered, is_part=True)
    seconds = time.monotonic() - began
    if walks and not played:
        return result._replace(status=FAILED, why=TOO_LARGE, seconds=seconds)
    status = PASSED if all(each.ok for each in played) else FAILED
    return result._replace(status=status, played=tuple(played), seconds=seconds)


def _first(named: Iterable[str]) -> str:
    """Return the first few of what is named, and how many more there are."""
    every = list(named)
    more = [f"{len(every) - MOST_NAMED} more"] if len(every) > MOST_NAMED else []
    return ", ".join([*every[:MOST_NAMED], *more])


def _more_roots(files: Iterable[WorkflowFile], roots: Sequence[Root]) -> Iterator[Root]:
    """Yield the folders of skills that were named by path and are not what their name leads to.

    What holds no Python runs nothing, whatever it is called: it counts as the user's own, so that a copy of a
    skill can be tried under the name of the one that it stands for.
    """
    seen: set[str] = set()
    for file in files:
        folder = os.path.realpath(file.folder)
        above = os.path.dirname(folder)
        if above in seen:
            continue
        try:
            known = os.path.realpath(find(file.address, roots).folder)
        except FlowError:
            known = ""
        if known != folder:
            seen.add(above)
            yield Root(above, Scope.EXTRA, NAMED, personal=not _holds_python(above))


def _in_memory() -> str | None:
    """Return a folder that no disk has to be waited for, where there is one and nobody named another."""
    if not any(name in os.environ for name in ("TMPDIR", "TEMP", "TMP")):
        with suppress(OSError):
            room = os.statvfs(MEMORY)
            if os.access(MEMORY, os.W_OK | os.X_OK) and room.f_bavail * room.f_frsize > ENOUGH_ROOM:
                return MEMORY
    return None


def _holds_python(above: str) -> bool:
    with os.scandir(above) as entries:
        return any(os.path.lexists(os.path.join(each.path, "workflow.py")) for each in entries)
