"""Skills as items of pytest: one for `flow check`, one a walk, one for the ways that no walk takes.

Imported by the plugin alone, and only where skills are collected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from flowrail.discovery.locations import Root, skill_roots
from flowrail.errors import FlowError
from flowrail.formatters.blocks.fences import fence_problems
from flowrail.machines.engine.outcome import call_plainly
from flowrail.machines.exploration.walks import Walk
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.sessions.user_key import state_folder
from flowrail.operations.skills import check
from flowrail.skills.catalog import listing
from flowrail.testing.run import this_moment
from flowrail.testing.walks.play import Played, Player
from flowrail.testing.walks.reproduce import Named, named, repeat
from flowrail.testing.walks.run import (
    SKIPPED,
    Rehearsed,
    planned,
    stage_for,
)
from flowrail.testing.walks.stage import Stage
from flowrail.text.safe_text import one_line, visible


class Collecting:
    """What pytest is told while it collects: which files are workflows, and what becomes of them."""

    def __init__(self, config: pytest.Config, named: Sequence[str]) -> None:
        self.strict = bool(config.getoption("flow_strict"))
        self.top = str(config.rootpath)
        home = os.path.expanduser("~")
        self.roots: tuple[Root, ...] = skill_roots(self.top, home, os.environ)
        self.state = state_folder(os.environ, home)
        self.files: Mapping[str, WorkflowFile] = self._files(config, named)
        config.addinivalue_line("markers", "flow: a skill's test, made by `pytest --flow`")
        if not named:
            folders = [_folder(arg.partition("::")[0]) for arg in config.args]
            config.args.extend(path for path in self.files if not path.startswith(tuple(folders)))
        self._above = {folder for path in self.files for folder in _above(path)}
        self._held = ExitStack()
        self._stage: Stage | None = None
        self._player: Player | None = None

    @property
    def stage(self) -> Stage:
        """Where walks are played: made when the first is planned."""
        if self._stage is None:
            files = list(self.files.values())
            made = stage_for(files, self.roots, self.state, now=this_moment)
            self._stage = self._held.enter_context(made)
        return self._stage

    @property
    def player(self) -> Player:
        """Who plays the walks."""
        self._player = self._player or Player(self.stage)
        return self._player

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> object:
        """Keep workflows in Python from being run as modules of tests."""
        is_ours = os.path.realpath(module_path) in self.files
        return Nothing.from_parent(parent, path=module_path) if is_ours else None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> object:
        """Take workflows for what they are."""
        file = self.files.get(os.path.realpath(file_path))
        return None if file is None else WorkflowItems.of(parent, file_path, self, file)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Look into the hidden folders that skills lie in, for nothing but them."""
        path = os.path.realpath(collection_path)
        if path in self._above or path in self.files:
            return False
        folder = os.path.dirname(path)
        hidden = os.path.relpath(folder, self.top).startswith(".") and folder != os.path.realpath(self.top)
        return True if hidden and folder in self._above else None

    def pytest_unconfigure(self) -> None:
        """Throw the sessions of the walks away."""
        self._held.close()

    def _files(self, config: pytest.Config, named: Sequence[str]) -> dict[str, WorkflowFile]:
        cwd = str(config.invocation_params.dir) if named else self.top
        targets = [arg.partition("::")[0] for arg in named]
        if not named:
            targets = list(config.getini("flow_skills")) or self._of_the_project()
        try:
            files = check.files(targets, self.roots, cwd) if targets else []
        except FlowError as error:
            raise pytest.UsageError(visible(f"flow_skills: {error.message}; {error.hint}")) from None
        return {os.path.realpath(os.path.join(file.folder, file.path)): file for file in files}

    def _of_the_project(self) -> list[str]:
        top = os.path.join(os.path.realpath(self.top), "")
        return [each.folder for each in listing(self.roots) if os.path.realpath(each.folder).startswith(top)]


def _folder(arg: str) -> str:
    """Return what the path of everything in *arg* begins with."""
    return os.path.join(os.path.realpath(arg), "")


def _above(path: str) -> Iterator[str]:
    """Yield every folder that *path* lies in."""
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path


class Nothing(pytest.File):
    """A file that holds no tests."""

    def collect(self) -> list[pytest.Item]:
        """Return none."""
        return []


class WorkflowItems(pytest.File):
    """One workflow, with its tests."""

    about: Collecting
    file: WorkflowFile

    @classmethod
    def of(cls, parent: pytest.Collector, path: Path, about: Collecting, file: WorkflowFile) -> WorkflowItems:
        """Return what collects the tests of *file*."""
        inside = path.is_relative_to(parent.config.rootpath)  # others have no path that pytest would show
        made: WorkflowItems = cls.from_parent(
            parent, path=path, nodeid=None if inside else one_line(file.address)
        )
        made.about, made.file = about, file
        return made

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test of what can be read, and one for each walk."""
        yield CheckItem.of(self, "check")
        made, result = planned(self.about.stage.workflow, self.file.address, call_plainly)
        if made is None:
            yield LoadItem.of(self, "load", result=result)
            return
        if self.about.strict:
            yield LoadItem.of(self, "every-way", result=_strictly(result))
        for walk in made.walks:
            yield WalkItem.of(self, walk.name, walk=walk)


class _FlowItem(pytest.Item):
    """A test of one workflow."""

    parent: WorkflowItems
    walk: Walk
    result: Rehearsed

    @classmethod
    def of(
        cls,
        parent: WorkflowItems,
        name: str,
        walk: Walk | None = None,
        result: Rehearsed | None = None,
    ) -> _FlowItem:
        made: _FlowItem = cls.from_parent(parent, name=name)
        if walk is not None:
            made.walk = walk
        if result is not None:
            made.result = result
        made.add_marker("flow")
        return made

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return where the test is from, and what it is called in a report."""
        return self.path, None, one_line(f"{self.parent.file.address}: {self.name}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Return what went wrong, without our own stack."""
        del style
        return visible(str(excinfo.value))


class CheckItem(_FlowItem):
    """`flow check` of a workflow."""

    def runtest(self) -> None:
        """Fail with every mistake; strictly, with every warning too."""
        about, file = self.parent.about, self.parent.file
        path = os.path.join(file.folder, file.path)
        reports = check.check([path], about.roots, about.top, problems=fence_problems)
        found = [each for report in reports for each in report.findings]
        wrong = [each.line for each in found if about.strict or each.severity == "error"]
        if wrong:
            raise AssertionError("\n".join(wrong))


class LoadItem(_FlowItem):
    """A workflow that cannot be walked, or not on every way."""

    def runtest(self) -> None:
        """Skip where nobody allowed it, fail with the reason otherwise."""
        if self.result.status == SKIPPED:
            pytest.skip(visible(self.result.why))
        if self.result.why:
            raise AssertionError(self.result.why)


class WalkItem(_FlowItem):
    """One walk through a workflow."""

    def runtest(self) -> None:
        """Play it through the real machine, store and formatters."""
        address = self.parent.file.address
        played = self.parent.about.player.play(address, self.walk)
        if not played.ok:
            about = self.parent.about
            place = named(self.parent.file, about.roots, str(self.config.invocation_params.dir))
            raise AssertionError("\n".join(_wrong(place, played)))


def _wrong(place: Named, played: Played) -> Iterator[str]:
    yield f"at step {played.step}: {played.problem}" if played.step else played.problem
    yield from repeat(place, played).told


def _strictly(result: Rehearsed) -> Rehearsed:
    return result._replace(why=f"no walk was found that {result.gaps}" if result.gaps else "")
