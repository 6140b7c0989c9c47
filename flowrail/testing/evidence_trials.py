"""Try the evidence of a workflow in projects where it must not pass: empty ones, and known-bad ones.

A check that passes before any work is done cannot fail. Commands run only if a person approved them for the project.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from flowrail import approval
from flowrail.errors import TrustError
from flowrail.evidence import baseline, commands
from flowrail.evidence.evaluate import Context, evaluate, state_of_run
from flowrail.evidence.project_files import UnreadableError
from flowrail.git import GitFailedError, output_of
from flowrail.machines.definition.evidence import CommandRun, EvidenceCheck, Level, StepEvidence, Verdict
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.operations.environment import Environment

_OF_FILES = frozenset({"file", "files", "json"})
_SAYS_NOTHING = "{}"
_FILES_OF_THE_SESSION = {"notes": "notes.md", "work": "work", "item": "item", "session": "session"}


class Trial(NamedTuple):
    """A check that passed but must not; ``bad`` is the known-bad project, if any.

    If the project ``had_file``, it was empty except for a file with the right name and no content of value.
    """

    step: str
    check: str
    bad: str = ""
    had_file: bool = False

    @property
    def problem(self) -> str:
        """The problem, as a sentence."""
        reason = "it passes in an empty project"
        if self.bad:
            reason = f"it passes in `{self.bad}`, which is known to be bad"
        elif self.had_file:
            reason = "it passes with a file that was there before and says nothing"
        return f"evidence `{self.check}` of step `{self.step}` cannot fail: {reason}"


class Trials(NamedTuple):
    """The checks that passed but must not, and the commands that were not tried because they are not approved."""

    passed: tuple[Trial, ...] = ()
    untried: tuple[str, ...] = ()


class _Trier:
    def __init__(self, folder: str, environment: Environment) -> None:
        self.folder = folder
        self.environment = environment
        self.environ = environment.environ

    def may_run(self, workflow: Workflow, check: EvidenceCheck) -> bool:
        """Return whether a person approved the command of *check* for the project."""
        name = workflow.name.partition("/")[0]
        project, state = self.environment.project, self.environment.state
        try:
            approval.require_command(self.folder, project, check.run, state, skill=name)
        except TrustError:
            return False
        return True

    def passes(
        self, check: EvidenceCheck, values: Mapping[str, object], bad: str = "", *, had_file: bool = False
    ) -> bool:
        """Return whether *check* passes in an empty project, or in one with the files of the folder *bad*.

        If the project *had_file*, the file of the check existed before the step.
        """
        with tempfile.TemporaryDirectory(prefix="flow-evidence-") as project:
            try:
                output_of(project, ("init", "-q"), self.environ)
            except GitFailedError:
                os.mkdir(os.path.join(project, ".git"))  # without git, checks of git fail in any case
            if had_file:
                _write_file(check, project, values)
            before = baseline.take([check], project, values, self.environ, at="")
            if bad:
                shutil.copytree(os.path.join(self.folder, bad), project, dirs_exist_ok=True, symlinks=True)
            evidence = StepEvidence(before, before)
            if check.run and check.lowest_level is not Level.CLAIMED:
                evidence = evidence.with_run(self._run(check, before.folder, values))
            context = Context(evidence, values, self.environ, "session", 0)
            result = evaluate([check], context)[0]
        return result.verdict == Verdict.PASS

    def _run(self, check: EvidenceCheck, folder: str, values: Mapping[str, object]) -> CommandRun:
        try:
            state = state_of_run(check, folder, values, 0)
        except UnreadableError:
            state = ""
        return commands.run(check, folder, self.environ)._replace(state=state)


def try_evidence(workflow: Workflow, folder: str, environment: Environment) -> Trials:
    """Try every check of *workflow*, whose skill is in *folder*."""
    trier = _Trier(folder, environment)
    passed: list[Trial] = []
    untried: list[str] = []
    for step in workflow.steps:
        for check in _checks(step):
            if check.run and check.lowest_level is not Level.CLAIMED and not trier.may_run(workflow, check):
                untried.append(check.id)
            else:
                passed += _tried(trier, step, check, _values(workflow))
    return Trials(tuple(passed), tuple(dict.fromkeys(untried)))


def has_evidence(workflow: Workflow) -> bool:
    """Return whether any step of *workflow* demands evidence."""
    return any(any(_checks(step)) for step in workflow.steps)


def _checks(step: StepDef) -> Iterator[EvidenceCheck]:
    yield from step.checks.values()
    if step.work is not None:
        yield from step.work.evidence


def _tried(
    trier: _Trier, step: StepDef, check: EvidenceCheck, values: Mapping[str, object]
) -> Iterator[Trial]:
    """Yield each project in which *check* passes. Known-bad projects replace the empty one."""
    for bad in check.known_bad:
        if not os.path.isdir(os.path.join(trier.folder, bad)) or trier.passes(check, values, bad):
            yield Trial(step.id, check.id, bad)
    if check.known_bad:
        return
    if trier.passes(check, values):
        yield Trial(step.id, check.id)
    elif check.kind in _OF_FILES and trier.passes(check, values, had_file=True):
        yield Trial(step.id, check.id, had_file=True)


def _write_file(check: EvidenceCheck, project: str, values: Mapping[str, object]) -> None:
    """Write a file that the path or pattern of *check* matches."""
    with suppress(UnreadableError):
        path = (
            baseline.named_path(check, project, values).replace("**/", "").replace("*", "x").replace("?", "x")
        )
        file = os.path.join(project, path)
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(file, "w", encoding="utf-8") as written:
            written.write(_SAYS_NOTHING)


def _values(workflow: Workflow) -> dict[str, object]:
    declared = {
        **workflow.params,
        **{name: arg for step in workflow.steps for name, arg in step.reports.items()},
    }
    samples = {name: arg.sample() if arg.example is None else arg.example for name, arg in declared.items()}
    return {**samples, **_FILES_OF_THE_SESSION, "visit": 1, "limit": None}
