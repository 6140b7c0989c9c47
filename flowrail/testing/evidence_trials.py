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
from flowrail.machines.definition.evidence import EvidenceCheck, Level, StepEvidence, Verdict
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
    """Tries the checks of one workflow, each in an empty folder. *folder* is that of its skill."""

    def __init__(self, workflow: Workflow, folder: str, environment: Environment) -> None:
        self.name = workflow.name.partition("/")[0]
        self.values = _values(workflow)
        self.folder = folder
        self.environment = environment

    def may_run(self, check: EvidenceCheck) -> bool:
        """Return whether *check* runs no command, or one that a person approved for the project."""
        if not _runs(check):
            return True
        project, state = self.environment.project, self.environment.state
        with suppress(TrustError):
            approval.require_command(self.folder, project, check.run, state, skill=self.name)
            return True
        return False

    def tried(self, step: StepDef, check: EvidenceCheck) -> Iterator[Trial]:
        """Yield each project in which *check* passes. Known-bad projects replace the empty one."""
        for bad in check.known_bad:
            if not os.path.isdir(os.path.join(self.folder, bad)) or self._passes(check, bad):
                yield Trial(step.id, check.id, bad)
        if check.known_bad:
            return
        if self._passes(check):
            yield Trial(step.id, check.id)
        elif check.kind in _OF_FILES and self._passes(check, had_file=True):
            yield Trial(step.id, check.id, had_file=True)

    def _passes(self, check: EvidenceCheck, bad: str = "", *, had_file: bool = False) -> bool:
        """Return whether *check* passes in an empty project, or in one with the files of the folder *bad*.

        If the project *had_file*, the file of the check existed before the step.
        """
        environ = self.environment.environ
        with tempfile.TemporaryDirectory(prefix="flow-evidence-") as project:
            try:
                output_of(project, ("init", "-q"), environ)
            except GitFailedError:
                os.mkdir(os.path.join(project, ".git"))  # without git, checks of git fail in any case
            if had_file:
                _write_file(check, project, self.values)
            before = baseline.take([check], project, self.values, environ, at="")
            if bad:
                shutil.copytree(os.path.join(self.folder, bad), project, dirs_exist_ok=True, symlinks=True)
            evidence = StepEvidence(before, before)
            with suppress(UnreadableError):  # then the check does not pass
                if _runs(check):
                    state = state_of_run(check, before.folder, self.values, 0)
                    run = commands.run(check, before.folder, environ)
                    evidence = evidence.with_run(run._replace(state=state))
            result = evaluate([check], Context(evidence, self.values, environ, "session", 0))[0]
        return result.verdict == Verdict.PASS


def _runs(check: EvidenceCheck) -> bool:
    return bool(check.run) and check.lowest_level is not Level.CLAIMED


def try_evidence(workflow: Workflow, folder: str, environment: Environment) -> Trials:
    """Try every check of *workflow*, whose skill is in *folder*."""
    trier = _Trier(workflow, folder, environment)
    passed: list[Trial] = []
    untried: dict[str, None] = {}
    for step in workflow.steps:
        for check in _checks(step):
            if trier.may_run(check):
                passed += trier.tried(step, check)
            else:
                untried[check.id] = None
    return Trials(tuple(passed), tuple(untried))


def has_evidence(workflow: Workflow) -> bool:
    """Return whether any step of *workflow* demands evidence."""
    return any(any(_checks(step)) for step in workflow.steps)


def _checks(step: StepDef) -> Iterator[EvidenceCheck]:
    yield from step.checks.values()
    if step.work is not None:
        yield from step.work.evidence


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
