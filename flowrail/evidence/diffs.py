"""The diffs in a Markdown file, and whether they apply to the project's files as they are now.

`git apply --check` reads these files from an empty repository in a temporary folder. So it needs no repository of the
project, runs no filter or hook of it, and writes nothing into the project.
"""

from __future__ import annotations

import bisect
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress

from flowrail import git
from flowrail.evidence.project_files import LARGEST_FILE, UnreadableError
from flowrail.text.placeholders import Fence, fences
from flowrail.text.safe_text import shortened

_CHANGE = re.compile(
    r"^(?:--- .*\n\+\+\+ .*\n@@ -|diff --git .*\n(?:(?:new|deleted) file|old) mode |diff --git .*\nsimilarity index )",
    re.MULTILINE,
)
"""How a change begins. git silently skips a diff without it if another diff has one."""
_HUNK = re.compile(r"patch failed: (?P<file>.*):(?P<line>\d+)\Z")
_NO_SETTINGS_OF_THE_USER = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
_OUTSIDE = b"#"
"""Replaces each line that is in no diff. git skips it between diffs, and a hunk that lacks lines cannot contain it."""


class _RefusedError(Exception):
    """git does not accept the diffs; the text is the reason."""


def problem(markdown: bytes, folder: str, environ: Mapping[str, str]) -> str:
    """Return why the `diff` blocks of a file do not apply in *folder* one after the other; empty if they do."""
    text = markdown.decode("latin-1")  # a character for each byte
    blocks = [*fences(text)]
    if blocks and not blocks[-1].is_closed:
        return f"the code block in line {blocks[-1].first + 1} is not closed"
    diffs = [block for block in blocks if block.language == "diff"]
    if not diffs:
        return "no `diff` block"
    for diff in diffs:
        if not _CHANGE.search(diff.body(text)):
            return f"the diff in line {diff.first + 1} changes nothing"
    import tempfile  # no other check needs it

    with tempfile.TemporaryDirectory(prefix="flow-diffs-") as scratch:
        return _Patch(markdown.split(b"\n"), diffs, folder, environ, scratch).problem()


class _Patch:
    """The diffs as one patch, in which a line has the number that it has in the Markdown file."""

    def __init__(
        self, lines: list[bytes], diffs: list[Fence], folder: str, environ: Mapping[str, str], scratch: str
    ) -> None:
        self.lines = lines
        self.diffs = diffs
        self.folder = folder
        self.environ = environ
        self.file = os.path.join(scratch, "patch")
        repository = os.path.join(scratch, "repository")
        self.settings = {"GIT_DIR": repository, "GIT_WORK_TREE": os.curdir, **_NO_SETTINGS_OF_THE_USER}
        for name in ("objects", "refs"):
            os.makedirs(os.path.join(repository, name))
        with open(os.path.join(repository, "HEAD"), "wb") as head:
            head.write(b"ref: refs/heads/main\n")

    def problem(self) -> str:
        total = len(self.diffs)
        try:
            for name in self._names():
                self._require_file(name)
        except _RefusedError as refused:
            return str(refused)
        if not self._refusal(total):
            return ""
        number = 1 + bisect.bisect_left(range(1, total), True, key=lambda count: bool(self._refusal(count)))
        label = f"the diff in line {self.diffs[number - 1].first + 1} ({number} of {total})"
        return f"{label} does not apply: {self._refusal(number)}"

    def _names(self) -> set[bytes]:
        """Return the files that the diffs change, create, delete, rename or copy."""
        self._write(len(self.diffs))
        printed = self._apply("--numstat", "-z") + self._apply("--numstat", "-z", "-R")
        return {line.split(b"\t", 2)[2] for line in printed.split(b"\0") if line}

    def _require_file(self, name: bytes) -> None:
        """Refuse a folder, which git takes for a submodule and does not compare, and a file that takes too long to read."""
        with suppress(OSError, ValueError):
            status = os.lstat(os.path.join(os.fsencode(self.folder), name))
            shown = shortened(name.decode("utf-8", "replace"))
            if stat.S_ISDIR(status.st_mode):
                raise _RefusedError(f"{shown} is a folder")
            if status.st_size > LARGEST_FILE:
                raise UnreadableError(f"{shown} has more than {LARGEST_FILE // 1024 // 1024} MB")

    def _refusal(self, count: int) -> str:
        """Return why git refuses the first *count* diffs; empty if they apply."""
        self._write(count)
        try:
            self._apply("--check")
        except _RefusedError as refused:
            return str(refused)
        return ""

    def _write(self, count: int) -> None:
        """Write the first *count* diffs."""
        written = [_OUTSIDE] * (self.diffs[count - 1].last + 1)
        for diff in self.diffs[:count]:
            written[diff.first + 1 : diff.last] = self.lines[diff.first + 1 : diff.last]
        with open(self.file, "wb") as file:
            file.write(b"\n".join([*written, b""]))

    def _apply(self, *options: str) -> bytes:
        words = ("apply", *options, "--whitespace=nowarn", "--", self.file)
        try:
            done = git.ended(self.folder, words, self.environ, settings=self.settings)
        except git.GitFailedError as error:
            raise UnreadableError(error.message) from None
        if done.status:
            raise _RefusedError(self._complaint(done.errors.decode("utf-8", "replace")))
        return done.output

    def _complaint(self, errors: str) -> str:
        lines = errors.replace(f"{self.file}:", "line ").splitlines()
        messages = [line.partition(": ")[2] for line in lines if line.startswith(("error: ", "fatal: "))]
        hunk = _HUNK.match(messages[0]) if messages else None
        if hunk is not None:
            return shortened(f"the lines of its hunk `@@ -{hunk['line']}` are not in {hunk['file']}")
        return shortened("; ".join(messages) or "git gives no reason")
