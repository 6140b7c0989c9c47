"""The pytest items of a skill: one for `flow check`, one per walk, one for transitions without a walk, one for evidence.

`pytest_plugin` imports this module only if skills are collected.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest

from flowrail.discovery.locations import Root, find_project_root, skill_roots
from flowrail.errors import FlowError
from flowrail.formatters.blocks.fences import fence_problems
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.outcome import call_plainly
from flowrail.machines.exploration.walks import Walk
from flowrail.machines.loading.skill_folder import WorkflowFile
from flowrail.operations.skills import check
from flowrail.skills.catalog import listing
from flowrail.storage.ownership import state_folder
from flowrail.testing.evidence_trials import has_evidence, try_evidence
from flowrail.testing.run import Run, current_time, load, stage_in
from flowrail.testing.walks.play import PlayedWalk, Player
from flowrail.testing.walks.reproduce import WorkflowName, name_of, reproduction
from flowrail.testing.walks.run import SKIPPED, WorkflowResult, plan_walks, stage_for
from flowrail.testing.walks.stage import Stage
from flowrail.text.safe_text import one_line, visible


def begin_run(top: str, workflow: str | Workflow, /, **params: object) -> Run:
    """Return a run of a workflow, or of a skill that is searched from the folder *top*."""
    return Run(load(workflow, start=top) if isinstance(workflow, str) else workflow, **params)


def begin_stage(top: str, folder: str) -> Stage:
    """Return a stage with its store in *folder*; skills are searched from *top*."""
    return stage_in(folder, top)


class SkillCollector:
    """Hooks that let pytest collect the workflows of skills."""

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
        self._parents = {folder for path in self.files for folder in _parents(path)}
        self._exit_stack = ExitStack()
        self._stage: Stage | None = None
        self._player: Player | None = None

    @property
    def stage(self) -> Stage:
        """The stage for all walks, created for the first one."""
        if self._stage is None:
            files = list(self.files.values())
            stage = stage_for(files, self.roots, self.state, now=current_time)
            self._stage = self._exit_stack.enter_context(stage)
        return self._stage

    @property
    def player(self) -> Player:
        """The player for all walks."""
        self._player = self._player or Player(self.stage)
        return self._player

    @pytest.hookimpl(tryfirst=True)
    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> object:
        """Prevent pytest from importing Python workflows as test modules."""
        is_workflow = os.path.realpath(module_path) in self.files
        return NoTestsFile.from_parent(parent, path=module_path) if is_workflow else None

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> object:
        """Collect workflows."""
        file = self.files.get(os.path.realpath(file_path))
        return None if file is None else WorkflowFileItems.of(parent, file_path, self, file)

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
        return [
            skill.folder for skill in listing(self.roots) if os.path.realpath(skill.folder).startswith(top)
        ]


def _folder(arg: str) -> str:
    """Return *arg* as the prefix of the paths in it."""
    return os.path.join(os.path.realpath(arg), "")


def _parents(path: str) -> Iterator[str]:
    """Yield every parent folder of *path*."""
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path


class NoTestsFile(pytest.File):
    """A file without tests."""

    def collect(self) -> list[pytest.Item]:
        """Return none."""
        return []


class WorkflowFileItems(pytest.File):
    """One workflow, with its tests."""

    collector: SkillCollector
    file: WorkflowFile

    @classmethod
    def of(
        cls, parent: pytest.Collector, path: Path, collector: SkillCollector, file: WorkflowFile
    ) -> WorkflowFileItems:
        """Return the collector of the tests of *file*."""
        inside = path.is_relative_to(parent.config.rootpath)  # pytest shows no path outside the root
        made: WorkflowFileItems = cls.from_parent(
            parent, path=path, nodeid=None if inside else one_line(file.address)
        )
        made.collector, made.file = collector, file
        return made

    def collect(self) -> Iterator[pytest.Item]:
        """Yield a test for `flow check`, and one for each walk."""
        yield CheckItem.of(self, "check")
        plan, result = plan_walks(self.collector.stage.workflow, self.file.address, call_plainly)
        if plan is None:
            yield LoadItem.of(self, "load", result=result)
            return
        if self.collector.strict:
            yield LoadItem.of(self, "every-transition", result=_fail_on_gaps(result))
        if has_evidence(self.collector.stage.workflow(self.file.address)):
            yield EvidenceItem.of(self, "evidence")
        for walk in plan.walks:
            yield WalkItem.of(self, walk.name, walk=walk)


class _FlowItem(pytest.Item):
    """A test of one workflow."""

    parent: WorkflowFileItems
    walk: Walk
    result: WorkflowResult

    @classmethod
    def of(
        cls,
        parent: WorkflowFileItems,
        name: str,
        walk: Walk | None = None,
        result: WorkflowResult | None = None,
    ) -> _FlowItem:
        made: _FlowItem = cls.from_parent(parent, name=name)
        if walk is not None:
            made.walk = walk
        if result is not None:
            made.result = result
        made.add_marker("flow")
        return made

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """Return the file and the name of the test for reports."""
        return self.path, None, one_line(f"{self.parent.file.address}: {self.name}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: object = None) -> str:
        """Return the message without a traceback of flowrail."""
        del style
        return visible(str(excinfo.value))


class CheckItem(_FlowItem):
    """`flow check` of a workflow."""

    def runtest(self) -> None:
        """Fail with every error, and under `--flow-strict` with every warning too."""
        collector, file = self.parent.collector, self.parent.file
        path = os.path.join(file.folder, file.path)
        reports = check.check([path], collector.roots, collector.top, problems=fence_problems)
        findings = [finding for report in reports for finding in report.findings]
        failing = [finding.line for finding in findings if collector.strict or finding.severity == "error"]
        if failing:
            raise AssertionError("\n".join(failing))


class LoadItem(_FlowItem):
    """A workflow that cannot be walked, or not through every transition."""

    def runtest(self) -> None:
        """Skip a workflow that is not approved, and fail with the reason otherwise."""
        if self.result.status == SKIPPED:
            pytest.skip(visible(self.result.reason))
        if self.result.reason:
            raise AssertionError(self.result.reason)


class EvidenceItem(_FlowItem):
    """The evidence of a workflow, tried where it must not pass."""

    def runtest(self) -> None:
        """Fail with every check that cannot fail."""
        collector, file = self.parent.collector, self.parent.file
        trials = try_evidence(
            collector.stage.workflow(file.address),
            file.folder,
            state=collector.state,
            project=find_project_root(collector.top),
            environ=os.environ,
        )
        if trials.passed:
            raise AssertionError("\n".join(trial.problem for trial in trials.passed))


class WalkItem(_FlowItem):
    """One walk through a workflow."""

    def runtest(self) -> None:
        """Play the walk through the real engine, store and formatters."""
        address = self.parent.file.address
        collector = self.parent.collector
        played = collector.player.play(address, self.walk)
        if not played.passed:
            name = name_of(self.parent.file, collector.roots, str(self.config.invocation_params.dir))
            raise AssertionError("\n".join(_failure(name, played)))


def _failure(name: WorkflowName, played: PlayedWalk) -> Iterator[str]:
    yield f"at step {played.step}: {played.problem}" if played.step else played.problem
    yield from reproduction(name, played).text


def _fail_on_gaps(result: WorkflowResult) -> WorkflowResult:
    return result._replace(reason=f"no walk {result.gaps}" if result.gaps else "")
