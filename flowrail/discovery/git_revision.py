"""A folder as it was at a revision of its git repository: read, never checked out, no code of it run."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence

from flowrail.discovery.git import COMMAND, MOST_SAID, TooMuchSaidError, environment, run
from flowrail.errors import UsageError

LIMIT = 10.0  # seconds; somebody asked for it, and a build machine may be slow to read a large repository
LARGEST = 1_000_000
MOST = 2_000
LARGEST_WHOLE = 16_000_000
Run = Callable[..., subprocess.CompletedProcess[bytes]]


class NoRevisionError(UsageError):
    """Git has no such revision here, or there is no git."""

    code = "NO_REVISION"


class Revision:
    """One revision, asked for by any name that git knows it by."""

    def __init__(self, name: str, environ: Mapping[str, str], *, run: Run = run) -> None:
        self.name = name
        self._environ = environment(environ)
        self._run = run

    def paths(self, folder: str) -> list[str]:
        """Return the paths in *folder* of all that it held."""
        listed = self._git(folder, "ls-tree", "-r", "-z", "--name-only", self.commit(folder), "--", ".")
        return [os.fsdecode(path) for path in listed.split(b"\0") if path]

    def files(self, folder: str) -> dict[str, bytes]:
        """Return the files below *folder* at the revision by their paths in it; large ones are left out."""
        listed = self._git(folder, "ls-tree", "-r", "-l", "-z", self.commit(folder), "--", ".")
        found: dict[str, str] = {}
        whole = 0
        for entry in listed.split(b"\0", MOST)[:MOST]:
            about, _, path = entry.partition(b"\t")
            mode, kind, blob, size = (*about.decode("ascii").split(), "", "", "", "")[:4]
            if kind != "blob" or mode == "120000":
                continue
            if not size.isdigit():  # nothing is fetched by looking
                raise self._unknown("is here in part only", "fetch all of it: git fetch --refetch")
            if int(size) <= LARGEST:
                whole += int(size)
                found[os.fsdecode(path)] = blob
            if whole > LARGEST_WHOLE:
                raise self._unknown(f"holds more than {LARGEST_WHOLE} bytes there", "name a smaller folder")
        return self._contents(folder, found)

    def commit(self, folder: str) -> str:
        """Return the revision as git knows it in *folder*; refused where it does not."""
        if not self.name or self.name.startswith("-"):
            raise self._unknown("is no name of a revision")
        found = self._git(folder, "rev-parse", "--verify", "--quiet", f"{self.name}^{{commit}}")
        return found.strip().decode("ascii")

    def _contents(self, folder: str, blobs: Mapping[str, str]) -> dict[str, bytes]:
        asked = "".join(f"{blob}\n" for blob in blobs.values()).encode()
        most = LARGEST_WHOLE + MOST_SAID
        told = self._git(folder, "cat-file", "--batch", given=asked, most=most) if blobs else b""
        contents: dict[str, bytes] = {}
        at = 0
        for path in blobs:
            end = told.index(b"\n", at)
            size = int(told[at:end].split()[-1])
            contents[path] = told[end + 1 : end + 1 + size]
            at = end + size + 2
        return contents

    def _git(self, folder: str, *words: str, given: bytes | None = None, most: int = MOST_SAID) -> bytes:
        command: Sequence[str] = [*COMMAND, "-C", folder, *words]
        try:
            done = self._run(command, input=given, timeout=LIMIT, env=self._environ, most=most)
        except TooMuchSaidError:
            raise self._unknown("holds too many files there", "name a smaller folder") from None
        except subprocess.TimeoutExpired:
            raise self._unknown(f"could not be read within {LIMIT:g} seconds") from None
        except OSError as error:
            raise self._unknown(f"cannot be read: git cannot be started ({error.strerror})") from None
        if done.returncode:
            told = done.stderr.decode("utf-8", "replace").strip()[:200]
            raise self._unknown(f"is not known to git in {folder}{f': {told}' if told else ''}")
        return done.stdout

    def _unknown(self, what: str, hint: str = "name a commit, a tag or a branch") -> NoRevisionError:
        return NoRevisionError(f"`{self.name[:80]}` {what}", hint=hint, revision=self.name[:80])
