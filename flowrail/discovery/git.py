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
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import islice

from flowrail._files import MissingFileError, read_bounded
from flowrail.errors import DocumentError

LIMIT = 5.0  # seconds
NAMING = 0.9
"""So long where the configuration names further files: one of them may be a pipe, and stand anywhere."""
_MOST_FILES, _LARGEST_CONFIG = 1_000, 100_000
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


class AskGit:
    """Asks git, with the environment it is to have; see `locations.AskGit`."""

    def __init__(
        self,
        environ: Mapping[str, str],
        *,
        limit: float = LIMIT,
        run: Run = subprocess.run,
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
        except OSError as error:
            return False, f"git cannot be started: {error.strerror}"
        if done.returncode:
            return False, f"git refused: {done.stderr.decode('utf-8', 'replace').strip()[:200]}"
        return done.stdout.startswith(_SUBMODULE), ""


def _odd_file(outer: str) -> str:
    """Return which file beside git's index is a pipe or a device, before which git would wait."""
    with suppress(OSError), os.scandir(os.path.join(outer, ".git")) as found:
        for each in islice(found, _MOST_FILES):
            with suppress(OSError):
                kind = os.stat(each.path).st_mode
                if stat.S_ISFIFO(kind) or stat.S_ISCHR(kind) or stat.S_ISBLK(kind):
                    return each.path
    return ""


def _names_files(outer: str) -> bool:
    """Return whether the configuration of the repository names further files to be read with it, or may."""
    try:
        path = os.path.join(outer, ".git", "config")
        return b"include" in read_bounded(path, limit=_LARGEST_CONFIG, what="the configuration").lower()
    except MissingFileError:
        return False
    except DocumentError:
        return True
