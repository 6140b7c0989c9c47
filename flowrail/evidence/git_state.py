"""What changed in a git working tree since a step was entered, compared by content and not by time.

git is only asked which files may differ. Their content is compared here, so that no filter or diff program of the
repository runs.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from flowrail.evidence import project_files
from flowrail.evidence.project_files import UnreadableError
from flowrail.git import GitFailedError, output_of
from flowrail.storage.files import sha256_hex

_ENTRY = re.compile(rb"\d+ blob ([0-9a-f]+)\t(.*)", re.DOTALL)
_SHA1_LENGTH = 40
_AT_A_TIME = 200
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
    untracked = _paths(_ask(folder, environ, "ls-files", "-z", "--others", "--exclude-standard"))
    if commit:
        words = (
            *_without_filters(folder, environ),
            "diff-index",
            "--name-only",
            "-z",
            "--no-renames",
            "--relative",
            commit,
        )
        tracked = _paths(_ask(folder, environ, *words))
    else:
        tracked = _paths(_ask(folder, environ, "ls-files", "-z"))
    if len(untracked) + len(tracked) > project_files.MOST_FILES:
        raise UnreadableError(f"more than {project_files.MOST_FILES} files differ from the commit")
    committed = _blobs(folder, commit, tracked, environ) if commit else {}
    different = [path for path in tracked if not _is_blob(folder, path, committed.get(path, ""))]
    return sorted({*untracked, *different})


def _without_filters(folder: str, environ: Mapping[str, str]) -> list[str]:
    """Return the options by which git runs no filter that the repository configures."""
    try:
        listed = output_of(folder, ("config", "-z", "--name-only", "--get-regexp", _FILTERS), environ)
    except GitFailedError:
        return []  # none is configured
    keys = [key.decode("utf-8", "replace") for key in listed.split(b"\0") if key]
    return [word for key in keys for word in ("-c", f"{key}={'false' if key.endswith('.required') else ''}")]


def _digests(folder: str, paths: Iterable[str]) -> dict[str, str]:
    """Return the digest of each path; of a link, that of where it leads."""
    return {path: _link_digest(folder, path) or project_files.digest(folder, path) for path in paths}


def _link_digest(folder: str, path: str) -> str:
    try:
        return sha256_hex(b"link " + os.fsencode(os.readlink(os.path.join(folder, path))))
    except OSError:
        return ""


def _blobs(folder: str, commit: str, paths: list[str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the object id of each of *paths* in *commit*."""
    found: dict[str, str] = {}
    for start in range(0, len(paths), _AT_A_TIME):
        some = paths[start : start + _AT_A_TIME]
        listed = _ask(folder, environ, "ls-tree", "-z", commit, "--", *some)
        entries = (_ENTRY.match(entry) for entry in listed.split(b"\0"))
        found.update((os.fsdecode(entry[2]), entry[1].decode()) for entry in entries if entry)
    return found


def _is_blob(folder: str, path: str, object_id: str) -> bool:
    """Return whether a file has the content of a git object. A link is not looked through."""
    full = os.path.join(folder, path)
    if not object_id:
        return False
    try:
        data = os.fsencode(os.readlink(full)) if os.path.islink(full) else project_files.read(folder, path)
    except OSError:
        return False
    if data is None:
        return False
    import hashlib  # 2 ms with OpenSSL, for tracked files of a `git` check only

    algorithm = "sha1" if len(object_id) == _SHA1_LENGTH else "sha256"
    blob = b"blob %d\0" % len(data) + data
    return hashlib.new(algorithm, blob, usedforsecurity=False).hexdigest() == object_id


def _ask(folder: str, environ: Mapping[str, str], *words: str) -> bytes:
    try:
        return output_of(folder, words, environ)
    except GitFailedError as error:
        raise UnreadableError(error.message) from None


def _paths(listed: bytes) -> list[str]:
    return [os.fsdecode(path) for path in listed.split(b"\0") if path]


def outside(paths: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Return the *paths* that none of *patterns* matches."""
    expressions = [project_files.compiled(pattern) for pattern in patterns]
    return [path for path in paths if not any(each.match(path) for each in expressions)]
