"""The one question that only git can answer: is this folder a submodule of that repository?

`locations` reads it off the files wherever it can. What is left is a repository with a `.git` folder
of its own that lies inside another one: an old submodule, or merely a clone. The answer stands in the
outer repository's index, so git is started once, with a time limit, and nothing that the repository
itself has configured is started by it.
"""

from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from tempfile import TemporaryFile
from threading import Timer

from flowrail.discovery.locations import git_folder
from flowrail.errors import DocumentError
from flowrail.storage.files import MissingFileError, read_bounded

LIMIT = 5.0  # seconds
NAMING = 0.9
"""So long where the configuration names further files, or there are very many: one of them may be a pipe."""
_MOST_FILES, _LARGEST_CONFIG = 1_000, 100_000
MOST_SAID, _MOST_COMPLAINED = 4_000_000, 1_000
"""So many bytes git may answer: a few objects list files without end, and one index can name very long paths."""
_SUBMODULE = b"160000 "


#: Starts a process and waits for it, as `subprocess.run` does.
Run = Callable[..., subprocess.CompletedProcess[bytes]]


#: Git without what a repository may have it start: a monitor of files, hooks.
COMMAND = ("git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for git in somebody's repository.

    Nothing is fetched: an object that is not there would be, in a partial clone, by whatever program
    the repository names for its remote.
    """
    own = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    alone = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "", "GIT_TERMINAL_PROMPT": "0"}
    return {**own, **alone, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_LITERAL_PATHSPECS": "1"}


class TooMuchSaidError(Exception):
    """Git answered more than is read."""


def run(
    command: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str],
    capture_output: bool = True,
    check: bool = False,
    input: bytes | None = None,  # noqa: A002 - as `subprocess.run` has it
    most: int = MOST_SAID,
) -> subprocess.CompletedProcess[bytes]:
    """Start git and wait for it as `subprocess.run` would, but keep no more than *most* bytes of its answer."""
    del capture_output, check
    end = time.monotonic() + timeout
    with TemporaryFile() as given, TemporaryFile() as complaint:
        given.write(input or b"")
        given.seek(0)
        with subprocess.Popen(
            command, stdin=given, stdout=subprocess.PIPE, stderr=complaint, env=env
        ) as child:
            bell = Timer(timeout, child.kill)
            bell.start()
            try:
                said = child.stdout.read(most + 1) if child.stdout is not None else b""
                if len(said) > most:
                    raise TooMuchSaidError
                status = child.wait()
            finally:
                bell.cancel()
                child.kill()
        if status and time.monotonic() >= end:
            raise subprocess.TimeoutExpired(command, timeout)
        complaint.seek(0)
        return subprocess.CompletedProcess(command, status, said, complaint.read(_MOST_COMPLAINED))


class AskGit:
    """Asks git, with the environment it is to have; see `locations.AskGit`."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        limit: float = LIMIT,
        run: Run = run,
    ) -> None:
        self._environ = environment(environ)
        self._limit = limit
        self._run = run

    def __call__(self, inner: str, outer: str) -> tuple[bool, str]:
        """Return whether *inner* is a submodule of *outer*, and what kept git from saying so."""
        odd = _odd_file(outer)
        if odd:
            return False, f"git is not asked: {odd} is no plain file"
        limit = min(self._limit, NAMING) if _names_files(outer) else self._limit
        command = [*COMMAND, "-C", outer, "ls-files", "--stage", "-z", "--"]
        try:
            done = self._run(
                [*command, os.path.relpath(inner, outer)],
                capture_output=True,
                timeout=limit,
                env=self._environ,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return False, f"git did not answer within {limit:g} seconds"
        except TooMuchSaidError:
            return False, ""  # many files; a submodule is one entry
        except OSError as error:
            return False, f"git cannot be started: {error.strerror}"
        if done.returncode:
            return False, f"git refused: {done.stderr.decode('utf-8', 'replace').strip()[:200]}"
        return done.stdout.startswith(_SUBMODULE), ""


def _odd_file(outer: str) -> str:
    """Return which file beside git's index is a pipe or a device, before which git would wait."""
    for folder in _git_folders(outer):
        with suppress(OSError), os.scandir(folder) as found:
            for each in islice(found, _MOST_FILES):
                with suppress(OSError):
                    kind = os.stat(each.path).st_mode
                    if stat.S_ISFIFO(kind) or stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
                        return each.path
    return ""


def _names_files(outer: str) -> bool:
    """Return whether git may read other files than were looked at: the configuration names some, or there are many."""
    for folder in _git_folders(outer):
        with suppress(OSError), os.scandir(folder) as found:
            if sum(1 for _ in islice(found, _MOST_FILES + 1)) > _MOST_FILES:
                return True
        try:
            path = os.path.join(folder, "config")
            data = read_bounded(path, limit=_LARGEST_CONFIG, what="the configuration")
        except MissingFileError:
            continue
        except DocumentError:
            return True
        if b"include" in data.lower():
            return True
    return False


def _git_folders(outer: str) -> list[str]:
    """Return where git reads what belongs to *outer*: a `.git` file names a folder, which may name another one."""
    folder = git_folder(outer)
    try:
        data = read_bounded(os.path.join(folder, "commondir"), limit=_LARGEST_CONFIG, what="the pointer")
    except DocumentError:
        return [folder]
    common = os.fsdecode(data.partition(b"\0")[0].strip())
    return [folder, os.path.normpath(os.path.join(folder, common))]
