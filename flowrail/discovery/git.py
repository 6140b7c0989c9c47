"""Ask git for what the files alone do not show: the superproject of a submodule, an earlier revision, what changed.

git runs with a time limit. It fetches nothing, and it starts no program that a repository configures.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from flowrail.errors import DocumentError, UsageError

if TYPE_CHECKING:
    import subprocess

#: Git and the processes that it starts get this many seconds in total.
TIME_LIMIT = 5.0
#: `flow check --against` reads many files, and a large repository may be slow.
REVISION_TIME_LIMIT = 10.0
LARGEST_FILE = 1_000_000
_COMMAND = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_ENTRY = re.compile(rb"(\d+) (\w+) [0-9a-f]+ +(\S+)\t(.*)", re.DOTALL)
_LINK_MODE = b"120000"


class NoRevisionError(UsageError):
    """Git does not know this revision here, or git cannot be run."""

    code = "NO_REVISION"


class GitFailedError(UsageError):
    """Git cannot answer here."""

    code = "GIT_FAILED"


def output_of(
    folder: str, words: Iterable[str], environ: Mapping[str, str], *, seconds: float = REVISION_TIME_LIMIT
) -> bytes:
    """Return what git prints for *words* in *folder*; `GitFailedError` if it fails or takes longer."""
    try:
        done = _run(folder, words, environ, seconds)
    except TimeoutError:
        problem = f"did not answer within {seconds:g} seconds"
    except OSError as error:
        problem = f"could not be started ({error.strerror})"
    else:
        if not done.returncode:
            return done.stdout
        problem = f"failed: {_complaint(done)}"
    raise GitFailedError(f"git {problem}", hint="run git in a repository that it can read")


def superproject(work_tree: str, environ: Mapping[str, str]) -> tuple[str | None, str]:
    """Return the working tree that *work_tree* is a submodule of, and why git could not answer."""
    words = ("rev-parse", "--show-superproject-working-tree")
    try:
        done = _run(work_tree, words, environ, TIME_LIMIT)
    except TimeoutError:
        return None, f"git did not answer within {TIME_LIMIT:g} seconds"
    except OSError as error:
        return None, f"git could not be started: {error.strerror}"
    if done.returncode:
        return None, f"git failed: {_complaint(done)}"
    return os.fsdecode(done.stdout.removesuffix(b"\n")) or None, ""


class Revision:
    """One revision of a repository, under any name that git knows."""

    def __init__(self, name: str, environ: Mapping[str, str]) -> None:
        self._name = name
        self._environ = environ

    def commit(self, folder: str) -> str:
        """Return the id of the commit in the repository of *folder*."""
        if not self._name or self._name.startswith("-"):
            raise self._error("is not a revision")
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{self._name}^{{commit}}")
        return self.git(folder, *words).strip().decode("ascii")

    def files(self, folder: str) -> RevisionFiles:
        """Return the files of *folder* as they were."""
        return RevisionFiles(self, folder, self.commit(folder))

    def children(self, folder: str, *paths: str) -> list[str]:
        """Return what was directly in *folder*, or directly in each of *paths* below it, as relative paths."""
        inside = [f"./{path}/" for path in paths] or ["./"]
        listed = self.git(folder, "ls-tree", "--name-only", "-z", self.commit(folder), "--", *inside)
        return [os.fsdecode(path) for path in listed.split(b"\0") if path]

    def entry(self, folder: str, commit: str, path: str) -> int | None:
        """Return the size of the file at *path* in *folder*, or `None` if it was not a regular file."""
        listed = self.git(folder, "ls-tree", "-l", "-z", commit, "--", f"./{path}")
        found = _ENTRY.match(listed)
        if found is None or found[2] != b"blob" or found[1] == _LINK_MODE:
            return None
        if not found[3].isdigit():  # a partial clone
            raise self._error("is only partly in this clone", "fetch all of it: git fetch --refetch")
        return int(found[3])

    def git(self, folder: str, *words: str) -> bytes:
        """Return what git prints in *folder*."""
        try:
            done = _run(folder, words, self._environ, REVISION_TIME_LIMIT)
        except TimeoutError:
            raise self._error(f"could not be read within {REVISION_TIME_LIMIT:g} seconds") from None
        except OSError as error:
            raise self._error(f"could not be read: git could not be started ({error.strerror})") from None
        if done.returncode:
            complaint = _complaint(done)
            raise self._error(f"is unknown to git in {folder}{f': {complaint}' if complaint else ''}")
        return done.stdout

    def _error(self, what: str, hint: str = "name a commit, a tag or a branch") -> NoRevisionError:
        name = self._name[:80]
        return NoRevisionError(f"`{name}` {what}", hint=hint, revision=name)


class RevisionFiles(Mapping[str, bytes]):
    """The files of one folder at a revision, by relative path. Each is read when it is asked for."""

    def __init__(self, revision: Revision, folder: str, commit: str) -> None:
        self._revision = revision
        self._folder = folder
        self._commit = commit

    def __contains__(self, path: object) -> bool:
        return self._revision.entry(self._folder, self._commit, str(path)) is not None

    def __getitem__(self, path: str) -> bytes:
        size = self._revision.entry(self._folder, self._commit, path)
        if size is None:
            raise KeyError(path)
        if size > LARGEST_FILE:
            raise DocumentError(f"has more than {LARGEST_FILE} bytes", hint="make it smaller", place=path)
        return self._revision.git(self._folder, "cat-file", "blob", f"{self._commit}:./{path}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._revision.children(self._folder))

    def __len__(self) -> int:
        return len(self._revision.children(self._folder))


def _run(
    folder: str, words: Iterable[str], environ: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    """Run git in a process group of its own, which ends with it: `git` may be a script that starts other programs.

    `TimeoutError` if it takes longer.
    """
    import subprocess  # 6 ms, and most commands ask git nothing

    with subprocess.Popen(
        [*_COMMAND, "-C", folder, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=_environment(environ),
        start_new_session=True,
    ) as process:
        try:
            out, complaint = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            raise TimeoutError from None
    return subprocess.CompletedProcess(process.args, process.returncode, out, complaint)


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git in a repository of another author.

    In a partial clone git would fetch a missing object with whichever program the repository names.
    """
    inherited = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    offline = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0"}
    return {**inherited, **offline, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}


def _complaint(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[:200]
