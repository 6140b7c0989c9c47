"""The changes in a git working tree since a step was entered, compared by content and not by time.

git lists the files that differ, without the filters and diff programs that the repository configures.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from flowrail.evidence import project_files
from flowrail.evidence.project_files import UnreadableError
from flowrail.git import GitFailedError, output_of
from flowrail.storage.files import sha256_hex

_DIFF = (
    *(
        "-c",
        "core.fileMode=false",
        "-c",
        "diff.autoRefreshIndex=true",
    ),  # neither a mode nor a time is a change
    *("diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--relative"),
    "--ignore-submodules=dirty",  # to look into a submodule, git would use its configuration
)
_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"


class GitState(NamedTuple):
    """The commit of the working tree, and the digest of each file that differs from it."""

    commit: str
    dirty: Mapping[str, str]


def current(folder: str, environ: Mapping[str, str]) -> GitState:
    """Return the state of the working tree now; `UnreadableError` if *folder* has none."""
    commit = _commit(folder, environ)
    return GitState(commit, _digests(folder, _differing(folder, commit, environ)))


def changed_since(folder: str, before: GitState, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the files whose content is not what it was, with their digests now; a deleted file has an empty one."""
    paths = {*before.dirty, *_differing(folder, before.commit, environ)}
    now = _digests(folder, sorted(paths))
    return {
        path: digest
        for path, digest in now.items()
        if path not in before.dirty or digest != before.dirty[path]
    }


def _commit(folder: str, environ: Mapping[str, str]) -> str:
    """Return the id of the newest commit; empty in a repository without one."""
    _ask(folder, environ, "rev-parse", "--git-dir")
    try:
        return (
            output_of(folder, ("rev-parse", "--verify", "--quiet", "HEAD^{commit}"), environ).decode().strip()
        )
    except GitFailedError:
        return ""


def _differing(folder: str, commit: str, environ: Mapping[str, str]) -> list[str]:
    """Return the paths of files whose content differs from *commit*, untracked ones included."""
    listed = _ask(folder, environ, "ls-files", "-z", "--others", "--exclude-standard")
    if commit:
        listed += _ask(folder, environ, *_without_filters(folder, environ), *_DIFF, commit)
    else:
        listed += _ask(folder, environ, "ls-files", "-z")
    paths = {os.fsdecode(path) for path in listed.split(b"\0") if path}
    if len(paths) > project_files.MOST_FILES:
        raise UnreadableError(f"more than {project_files.MOST_FILES} files differ from the commit")
    return sorted(paths)


def _without_filters(folder: str, environ: Mapping[str, str]) -> list[str]:
    """Return the options by which git runs no filter that the repository configures."""
    try:
        listed = output_of(folder, ("config", "-z", "--name-only", "--get-regexp", _FILTERS), environ)
    except GitFailedError:
        return []  # none is configured
    keys = [key.decode("utf-8", "replace") for key in listed.split(b"\0") if key]
    return [word for key in keys for word in ("-c", f"{key}={'false' if key.endswith('.required') else ''}")]


def _digests(folder: str, paths: Iterable[str]) -> dict[str, str]:
    """Return the digest of each path. A link has the digest of its target path."""
    return {path: _link_digest(folder, path) or project_files.digest(folder, path) for path in paths}


def _link_digest(folder: str, path: str) -> str:
    try:
        return sha256_hex(b"link " + os.fsencode(os.readlink(os.path.join(folder, path))))
    except OSError:
        return ""


def _ask(folder: str, environ: Mapping[str, str], *words: str) -> bytes:
    try:
        return output_of(folder, words, environ)
    except GitFailedError as error:
        raise UnreadableError(error.message) from None


def outside(paths: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return the *paths* that none of *patterns* matches."""
    allowed = [*patterns]
    return [path for path in paths if not any(project_files.fits(path, pattern) for pattern in allowed)]
