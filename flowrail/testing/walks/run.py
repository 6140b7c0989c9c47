"""Walk through workflows on a store in a temporary folder, and report what went wrong: `flow test`."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Annotated

from flowrail.command import Command
from flowrail.discovery.locations import Root, Scope
from flowrail.errors import FlowError, TrustError, UsageError
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.session_store import Store
from flowrail.machines.walks import coverage
from flowrail.machines.walks.inputs import without_example
from flowrail.machines.walks.plan import Plan, plan
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.operations.parameters import SkillsOrPaths
from flowrail.operations.skills.skill_check import files_of
from flowrail.skills.catalog import find
from flowrail.storage.file_store import FileBackend
from flowrail.storage.user_mark import Owner
from flowrail.testing.walks.play import PlayedWalk, Player
from flowrail.testing.walks.stage import NAMED, Stage
from flowrail.text.phrases import count
from flowrail.text.report import Part, Report, Span, Style, Table, columns, paragraphs
from flowrail.text.safe_text import one_line, visible

_MEMORY = "/dev/shm"  # noqa: S108 - only a temporary folder of our own is created in it
_ENOUGH_MEMORY = 256 * 1024 * 1024
MOST_NAMED = 60
"""How many transitions without a walk are listed."""
PASSED, FAILED, SKIPPED = "passed", "failed", "not approved"
_STYLES = {PASSED: Style.GOOD, FAILED: Style.BAD, SKIPPED: Style.WARNING}


@dataclass(frozen=True)
class FailedWalk:
    """A walk that failed."""

    walk: str
    """Its name."""
    step: str | None
    """The step at which it failed."""
    problem: str
    """What is wrong."""
    params: Mapping[str, object]
    """The parameters that it started with."""
    commands: tuple[Command, ...]
    """The command that repeats the walk, then the commands that it ran."""

    @property
    def lines(self) -> list[str]:
        """What a person reads about it."""
        whole, *ran = self.commands
        heading = ["Its commands, with the ids of that run:"] if ran else []
        prefix = f"at step {self.step}: " if self.step else ""
        return [f"{prefix}{self.problem}", f"To repeat it: {whole}", *heading, *(f"  {line}" for line in ran)]


@dataclass(frozen=True)
class MissedTransition:
    """A transition that no walk took."""

    step: str
    outcome: str


@dataclass(frozen=True)
class WalkedWorkflow:
    """The result of all walks of one workflow."""

    workflow: str
    """Its address."""
    status: str
    """`passed`, `failed` or `not approved`."""
    reason: str = ""
    """Why it could not be walked at all."""
    walks: int = 0
    """How many walks were taken."""
    commands: int = 0
    """How many commands they ran."""
    seconds: float = 0.0
    transitions: int = 0
    """How many transitions the workflow has."""
    missing: tuple[MissedTransition, ...] = ()
    """The transitions that no walk took."""
    never_entered: tuple[str, ...] = ()
    """The steps that no walk entered."""
    is_part: bool = False
    """Whether the workflow is too large to walk all of it."""
    without_example: tuple[str, ...] = ()
    """The parameters and facts without choices, bounds, default or example, so that no value could be tried."""
    failures: tuple[FailedWalk, ...] = ()
    """The walks that failed, shortest first."""

    @property
    def taken(self) -> int:
        """How many transitions were taken."""
        return self.transitions - len(self.missing)

    @property
    def gaps(self) -> str:
        """The transitions and steps without a walk, as a clause; empty without any."""
        gaps = [f"takes `{missed.outcome}` of `{missed.step}`" for missed in self.missing]
        gaps += [f"enters `{step}`" for step in self.never_entered]
        return ", ".join([*gaps[:MOST_NAMED], *(["…"] if gaps[MOST_NAMED:] else [])])

    @property
    def row(self) -> list[Part]:
        """The result as a row of a table."""
        taken = f"{self.taken} of {self.transitions}" if self.transitions else "-"
        cells = [self.workflow, str(self.walks), str(self.commands), taken, f"{self.seconds:.1f}"]
        return [*cells, Span(self.status, _STYLES[self.status])]

    @property
    def details(self) -> Iterator[str]:
        """What is wrong, with the shortest failing walk."""
        if self.reason:
            yield f"{self.workflow}: " + "\n  ".join(map(one_line, self.reason.splitlines()))
        if self.failures:
            count_failed = count(len(self.failures), "walk")
            yield f"{self.workflow}: {count_failed} failed; the shortest is {self.failures[0].walk}"
            yield from (f"  {visible(line)}" for line in self.failures[0].lines)
        if self.is_part:
            yield f"{self.workflow}: the workflow is too large to walk all of it"
        for name in self.without_example:
            problem = "has no choices, bounds, default or example: declare one, so that it is tried"
            yield f"{self.workflow}: `{name}` {problem}"
        if self.gaps:
            yield f"{self.workflow}: no walk {one_line(self.gaps)}"


@dataclass(frozen=True)
class Tested:
    """The results of walks."""

    results: tuple[WalkedWorkflow, ...]
    """One for each workflow."""
    strict: bool = False
    """Whether a gap counts as a failure."""

    @property
    def exit_status(self) -> int:
        """1 if a walk failed or a value cannot be tried, 7 if a workflow is not approved."""
        statuses = {result.status for result in self.results}
        gaps = any(result.gaps for result in self.results) if self.strict else False
        if FAILED in statuses or gaps:
            return 1
        return TrustError.exit_status if SKIPPED in statuses else 0

    def report(self) -> Report:
        """Return what a person reads."""
        if not self.results:
            return ["nothing to test"]
        titles = ("workflow", "walks", "commands", "transitions taken", "seconds", "result")
        head = columns(*titles, wraps=("workflow",))
        statuses = [result.status for result in self.results]
        totals = [f"{statuses.count(status)} {status}" for status in _STYLES if status in statuses]
        return paragraphs(
            [Table(head, [result.row for result in self.results])],
            *([*result.details] for result in self.results),
            [", ".join(totals)],
        )


@operation("test", "flow test problem-analysis", "flow test .claude/skills --strict")
def walk_skills(
    environment: Environment,
    skill: SkillsOrPaths = (),
    *,
    walk: Annotated[str | None, Help("Only the walk of that name.", metavar="NAME")] = None,
    strict: Annotated[bool, Help("Fail also if no walk takes a transition or enters a step.")] = False,
) -> Tested:
    """Walk through a workflow and check what its steps print

    The walks take every transition and repeat every loop up to its limit. Agents succeed and fail, questions get every
    answer, reviews have findings or none, and evidence counts as passed. Sessions are in a temporary folder. Project
    skills in Python run only if they are approved.

    Exits 1 if a walk fails or if a value has no choices, bounds, default or example, and 7 if a skill is not
    approved. For JUnit XML, run `pytest --flow --junitxml FILE`.
    """
    files = files_of(skill, environment.roots, environment.cwd)
    with stage_for(files, environment) as stage:
        player = Player(stage)
        results = tuple(_result(player, file, environment, walk) for file in files)
    if walk is not None and not any(result.walks for result in results):
        raise UsageError(f"unknown walk `{walk[:80]}`", hint="leave out --walk to see the walks that fail")
    return Tested(results, strict)


def _result(player: Player, file: WorkflowFile, environment: Environment, only: str | None) -> WalkedWorkflow:
    """Return the result of a workflow; *only* names one walk."""
    started_at = time.monotonic()
    planned, result = plan_walks(player.stage, file.address)
    if planned is None:
        return result
    walks = [walk for walk in planned.walks if only is None or walk.name == only]
    played = [player.play(file.address, walk) for walk in walks]
    failed = [failed_walk(walk, file, environment) for walk in played if not walk.passed]
    return replace(
        result,
        status=FAILED if failed else result.status,
        walks=len(played),
        commands=sum(len(walk.commands) for walk in played),
        seconds=round(time.monotonic() - started_at, 3),
        failures=tuple(sorted(failed, key=lambda walk: len(walk.commands))),
    )


def failed_walk(played: PlayedWalk, file: WorkflowFile, environment: Environment) -> FailedWalk:
    """Return what a report says about a walk through the workflow in *file* that failed."""
    target = _relative(os.path.join(file.folder, file.path), environment.cwd)
    ran = (
        Command(command.verb, *command.arguments).with_options(**command.options)
        for command in played.commands
    )
    repeat = Command("test", target, walk=played.walk.name)
    return FailedWalk(played.walk.name, played.step, played.problem, played.walk.params, (repeat, *ran))


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
            store=Store(FileBackend(store, Owner(os.path.join(folder, "state")))),
            shown_store=store,
            roots=roots,
            loader=replace(environment.loader, roots=roots),
            conversation=None,
            by="flow test",
            confirm=lambda _: None,  # a person answers
            demands_evidence=False,
        )
        yield Stage(staged)


def plan_walks(stage: Stage, address: str) -> tuple[Plan | None, WalkedWorkflow]:
    """Return the plan of a workflow, and a result without walks. Without a plan, the result has the reason."""
    try:
        workflow = stage.workflow(address)
    except TrustError as error:
        return None, WalkedWorkflow(address, SKIPPED, f"{error.message}; {error.hint}")
    except FlowError as error:
        return None, WalkedWorkflow(address, FAILED, error.message)
    except Exception as error:  # noqa: BLE001 - an author's module may raise anything
        return None, WalkedWorkflow(address, FAILED, f"{type(error).__name__}: {error}")
    planned = plan(workflow)
    if not planned.walks:
        return None, WalkedWorkflow(address, FAILED, "the workflow is too large to walk")
    taken = chain.from_iterable(walk.transitions for walk in planned.walks)
    covered, unknown = coverage.count(workflow, taken), tuple(without_example(workflow))
    return planned, WalkedWorkflow(
        address,
        FAILED if unknown else PASSED,
        transitions=len(covered.counts),
        missing=tuple(MissedTransition(*key) for key in covered.missing),
        never_entered=planned.unentered,
        is_part=planned.is_part,
        without_example=unknown,
    )


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
            yield Root(above, Scope.EXTRA, NAMED, own="" if _holds_python(above) else above)


def _holds_python(above: str) -> bool:
    with os.scandir(above) as entries:
        return any(os.path.lexists(os.path.join(entry.path, "workflow.py")) for entry in entries)
