"""Baselines: the state of files that a step's evidence is compared with, taken when the step is entered."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from flowrail.evidence import git_state, project_files
from flowrail.evidence.project_files import UnreadableError
from flowrail.machines.definition.evidence import Baseline, EvidenceCheck, digests_text
from flowrail.text.placeholders import fill


def machine_name() -> str:
    """Return the name of this machine, as records hold it."""
    return os.uname().nodename


def take(
    checks: Iterable[EvidenceCheck],
    folder: str,
    values: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    at: str,
) -> Baseline:
    """Return the baseline of *checks*: the state of their files now.

    Files that cannot be read have no digest, and their check reports why.
    """
    digests: dict[str, str] = {}
    state: git_state.GitState | None = None
    for check in checks:
        try:
            if check.git is not None:
                state = git_state.current(folder, environ)
            elif check.changed:
                digests.setdefault(named_path(check, folder, values), "")
                digests.update(project_files.digests(folder, paths_of(check, folder, values)))
        except UnreadableError:
            continue
    baseline = Baseline(at, os.path.realpath(folder), machine_name(), digests_text(digests))
    if state is None:
        return baseline
    return baseline._replace(commit=state.commit, dirty=digests_text(state.dirty))


def named_path(check: EvidenceCheck, folder: str, values: Mapping[str, object]) -> str:
    """Return the path or pattern of a check. A baseline has it among its files, even if no file matched."""
    return relative(str(check.file or check.json or check.files), folder, values)


def paths_of(check: EvidenceCheck, folder: str, values: Mapping[str, object]) -> list[str]:
    """Return the files that a check looks at; a single file is in it even if it is missing."""
    path = named_path(check, folder, values)
    return [path] if check.files is None else project_files.matching(folder, path)


def relative(path: str, folder: str, values: Mapping[str, object]) -> str:
    """Return *path* with its placeholders filled, relative to *folder*.

    A fact can have any value, so a path that is neither in the project nor among the session's working files is refused.
    """
    filled = os.path.normpath(os.path.join(folder, fill(path, values))) if path else ""
    work = os.path.normpath(os.path.join(folder, str(values.get("work") or os.curdir)))
    if "\0" in filled or not any(filled.startswith(f"{root}{os.sep}") for root in (folder, work)):
        raise UnreadableError(f"{fill(path, values)[:80] or path} is not a path in the project")
    return os.path.relpath(filled, folder)
