"""Compare workflows with an earlier revision of their git repository."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from flowrail.errors import DocumentError, UsageError
from flowrail.git import ended, output_of
from flowrail.machines.definition import diff
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow, step_fingerprint, to_plain
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.skill_folder import WorkflowFile

_CHANGES = {diff.GONE: "is gone", diff.NEW: "is new", diff.TEXTS: "its text changed"}


class UnknownGitRevisionError(UsageError):
    """git does not know the revision, or the folder is not in a repository."""

    code = "UNKNOWN_GIT_REVISION"


class WorkflowChange(NamedTuple):
    """One difference. ``stops`` says that a session at the step stops until it is migrated."""

    workflow: str
    step: str | None
    what: str
    stops: bool = False


class EarlierFiles(Mapping[str, bytes]):
    """The files of a folder as they were at a revision, by relative path. Each is read on demand."""

    def __init__(self, folder: str, revision: str, environ: Mapping[str, str]) -> None:
        words = ("rev-parse", "--verify", "--end-of-options", f"{revision}^{{commit}}")
        found = ended(folder, words, environ)
        if found.status:
            hint = "name a commit, a tag or a branch of the repository that contains the skill"
            raise UnknownGitRevisionError(f"git does not know `{revision[:80]}` in {folder}", hint=hint)
        self._folder, self._commit, self._environ = folder, found.output.decode().strip(), environ
        listed = output_of(folder, ("ls-tree", "-r", "-z", "--name-only", self._commit, "--", "./"), environ)
        self._paths = [os.fsdecode(path) for path in listed.split(b"\0") if path]

    def __getitem__(self, path: str) -> bytes:
        if path not in self._paths:
            raise KeyError(path)
        return output_of(self._folder, ("cat-file", "blob", f"{self._commit}:./{path}"), self._environ)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


def changes_since(
    revision: str, files: Iterable[WorkflowFile], environ: Mapping[str, str]
) -> Iterator[WorkflowChange]:
    """Yield how each workflow of *files* differs from its version at *revision*."""
    earlier_files = cache(lambda folder: EarlierFiles(folder, revision, environ))
    for file in files:
        before = _definition(file, earlier_files(file.folder))
        after = _definition(file, None)
        if before is None:
            yield WorkflowChange(file.address, None, "the workflow is new")
        elif after is not None:
            yield from differences(before, after)


def differences(before: Workflow, after: Workflow) -> Iterator[WorkflowChange]:
    """Yield the differences between two versions of a workflow."""
    name = after.name
    if before.entry_point != after.entry_point:
        what = f"it starts at `{after.entry_point}`, before at `{before.entry_point}`"
        yield WorkflowChange(name, None, what)
    yield from (WorkflowChange(name, None, what) for what in _parameters(before.params, after.params))
    for change in diff.compare(before, after, {}):
        if change.change == diff.IDENTICAL:
            continue
        is_other = step_fingerprint(before, change.step) != step_fingerprint(after, change.to)
        stops = change.change == diff.GONE or (change.change != diff.NEW and is_other)
        for what in change.what or (_CHANGES[change.change],):
            yield WorkflowChange(name, change.step, what, stops)


def _parameters(before: Mapping[str, Arg], after: Mapping[str, Arg]) -> Iterator[str]:
    for name in dict.fromkeys([*before, *after]):
        if name not in after:
            yield f"parameter `{name}` is gone"
        elif name not in before:
            yield f"parameter `{name}` is new{', required' if after[name].required else ''}"
        elif to_plain(before[name]) != to_plain(after[name]):
            yield f"parameter `{name}` is declared differently"


def _definition(file: WorkflowFile, contents: Mapping[str, bytes] | None) -> Workflow | None:
    """Return the workflow in *file*, even if it has errors; `None` if the file is missing or cannot be read."""
    try:
        return workflow_source.read(file, contents).definition
    except DocumentError:
        return None
