"""The pytest items of a skill: one for `flow check`, and one per walk.

`pytest_plugin` imports this module only if skills are collected.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pytest

from flowrail.errors import FlowError
from flowrail.machines.findings import errors_in
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.machines.walks.plan import Walk
from flowrail.operations.environment import Environment
from flowrail.operations.skills import skill_check as check
from flowrail.skills.catalog import listing
from flowrail.testing.walks.play import Player
from flowrail.testing.walks.run import failed_walk, plan_walks, stage_for
from flowrail.text.safe_text import one_line, visible


class SkillCollector:
    """Hooks that let pytest collect the workflows of skills."""

    def __init__(self, config: pytest.Config, named: Sequence[str]) -> None:
        self.top = str(config.rootpath)
        self.environment = Environment(cwd=self.top)
        self.files: Mapping[str, WorkflowFile] = self._files(config, named)
        config.addinivalue_line("markers", "flow: a skill's test, made by `pytest --flow`")
        if not named:
            folders = [os.path.join(os.path.realpath(arg.partition("::")[0]), "") for arg in config.args]
            config.args.extend(path for path in self.files if not path.startswith(tuple(folders)))
        self._parents = {str(folder) for path in self.files for folder in Path(path).parents}
        self._exit_stack = ExitStack()

    @cached_property
    def player(self) -> Player:
        """The player for all walks."""
        return Player(self._exit_stack.enter_context(stage_for(self.files.values(), self.environment)))

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> object:
        """Prevent pytest from importing Python workflows as test modules."""
        is_workflow = os.path.realpath(module_path) in self.files
        return NoTestsFile.from_parent(parent, path=module_path) if is_workflow else None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> object:
        """Collect workflows."""
        file = self.files.get(os.path.realpath(file_path))
        if file is None:
            return None
        is_inside = file_path.is_relative_to(parent.config.rootpath)  # pytest shows no path outside the root
        nodeid = None if is_inside else one_line(file.address)
        return WorkflowFileItems.from_parent(parent, path=file_path, nodeid=nodeid, collector=self, file=file)

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Enter the hidden folders of skills, and collect nothing else in them."""
        path = os.path.realpath(collection_path)
        if path in self._parents or path in self.files:
            return False
        folder = os.path.dirname(path)
        hidden = os.path.relpath(folder, self.top).startswith(".") and folder != os.path.realpath(self.top)
        return True if hidden and folder in self._parents else None

    def pytest_unconfigure(self) -> None:
        """Delete the store of the walks."""
        self._exit_stack.close()

    def _files(self, config: pytest.Config, named: Sequence[str]) -> dict[str, WorkflowFile]:
        targets = list(named or config.getini("flow_skills") or self._of_the_project())
        cwd = str(config.invocation_params.dir) if named else self.top
        try:
            files = check.files_of(targets, self.environment.roots, cwd) if targets else []
        except FlowError as error:
            raise pytest.UsageError(visible(f"flow_skills: {error.message}; {error.hint}")) from None
        return {os.path.realpath(os.path.join(file.folder, file.path)): file for file in files}

    def _of_the_project(self) -> list[str]:
        folders = [skill.folder for skill in listing(self.environment.roots)]
        top = os.path.join(os.path.realpath(self.top), "")
        return [folder for folder in folders if os.path.realpath(folder).startswith(top)]


class NoTestsFile(pytest.File):
    """A file without tests."""

    def collect(self) -> list[pytest.Item]:
        """Return none."""
        return []


class WorkflowFileItems(pytest.File):
    """One workflow, with its tests."""

    def __init__(self, *, collector: SkillCollector, file: WorkflowFile, **options: Any) -> None:
        super().__init__(**options)
        self.collector = collector
        self.file = file

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for `flow check`, and one for each walk."""
        address = self.file.address
        yield self._item("check", self._check)
        stage = self.collector.player.stage
        plan, result = plan_walks(stage, address)
        if plan is None:
            yield self._item("load", lambda: [result.reason])
            return
        if result.without_example:
            yield self._item("values", lambda: [*result.details])
        for walk in plan.walks:
            yield self._item(walk.name, partial(self._play, walk))

    def _item(self, name: str, run: Callable[[], list[str]]) -> pytest.Item:
        item: pytest.Item = WorkflowItem.from_parent(self, name=name, run=run)
        item.add_marker("flow")
        return item

    def _check(self) -> list[str]:
        """Return every error of `flow check`."""
        path = os.path.join(self.file.folder, self.file.path)
        reports = check.check([path], self.collector.environment.loader, self.collector.top)
        return [finding.line for report in reports for finding in errors_in(report.findings)]

    def _play(self, walk: Walk) -> list[str]:
        """Play a walk through the real engine, store and formatters, and return what is wrong."""
        played = self.collector.player.play(self.file.address, walk)
        environment = Environment(cwd=str(self.config.invocation_params.dir))
        return [] if played.passed else failed_walk(played, self.file, environment).lines


class WorkflowItem(pytest.Item):
    """A test of one workflow."""

    parent: WorkflowFileItems

    def __init__(self, *, run: Callable[[], list[str]], **options: Any) -> None:
        super().__init__(**options)
        self._run = run

    def runtest(self) -> None:
        """Run the test, which fails with the lines that it returns."""
        if lines := self._run():
            raise AssertionError("\n".join(lines))

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the name of the test for reports."""
        return self.path, None, one_line(f"{self.parent.file.address}: {self.name}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Return the message without a traceback of flowrail."""
        del style
        return visible(str(excinfo.value))
