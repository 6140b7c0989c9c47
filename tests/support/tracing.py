"""A command watched, killed or disturbed at its calls to the system, by strace."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from support.sandbox import ENTRY, clean_environment

CHANGING = "write,pwrite64,fsync,fdatasync,ftruncate,rename,renameat,renameat2,mkdir,mkdirat,link,linkat,unlink,unlinkat"
"""The calls by which anything on a disk changes, or is made to last; and `openat` where it makes a file."""
ANSWER = "answer"
"""The file that standard output is sent to."""
_LINE = re.compile(r"^\d+ +(?P<name>\w+)\((?P<words>.*)\) += (?P<result>-?\d+|\?)(?P<more>.*)$")
_OPENED = re.compile(r"\d+<(?P<path>[^>]*)>")
_NAMED = re.compile(r'"(?P<path>[^"]*)"')


class Traced(NamedTuple):
    """One call: its name, the files that it is about, all its words, whether it was done."""

    name: str
    paths: tuple[str, ...]
    words: str
    done: bool

    @property
    def path(self) -> str:
        """The file that the call is about, the last where there are two."""
        return self.paths[-1] if self.paths else ""

    @property
    def makes(self) -> bool:
        """Whether an opening makes the file."""
        return self.name == "openat" and "O_CREAT" in self.words


class Outcome(NamedTuple):
    """How a traced command ended: its exit status (negative: the signal), what it said, its calls."""

    status: int
    out: str
    err: str
    calls: tuple[Traced, ...]


@cache
def available() -> str:
    """Return why nothing can be traced here, or nothing."""
    if shutil.which("strace") is None:
        return "there is no strace here"
    tried = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-qq", "-y", "-o", os.devnull, "-e", "trace=write", "true"],  # noqa: S607
        capture_output=True,
        check=False,
    )
    return "" if tried.returncode == 0 else "strace may not trace here"


needs_strace = pytest.mark.skipif(bool(available()), reason=available() or "traced")


def traced(words: Sequence[str], inject: str = "", *, calls: str = CHANGING) -> Outcome:
    """Run a command under strace; *inject* is what is to befall which of its calls."""
    with tempfile.TemporaryDirectory() as folder:
        log, answer = Path(folder, "log"), Path(folder, ANSWER)
        options = [
            "-f",
            *([] if inject else ["--seccomp-bpf"]),
            "-qq",
            "-y",
            "-s",
            "0",
            "-o",
            str(log),
        ]
        options += ["-e", f"trace={calls},openat"]
        options += ["-e", f"inject={inject}"] if inject else []
        with answer.open("wb") as stdout:
            done = subprocess.run(
                ["strace", *options, sys.executable, "-c", ENTRY, *words],  # noqa: S607
                env={**clean_environment(), "PYTHONDONTWRITEBYTECODE": "1"},
                stdout=stdout,
                stderr=subprocess.PIPE,
                check=False,
                timeout=60,
            )
        found = tuple(_calls(log.read_text(encoding="utf-8", errors="replace")))
        return Outcome(done.returncode, answer.read_text(encoding="utf-8"), done.stderr.decode(), found)


def _calls(log: str) -> Iterator[Traced]:
    for line in log.splitlines():
        found = _LINE.match(line)
        if not found:
            continue
        words = found["words"]
        if found["name"] in {"write", "pwrite64", "fsync", "fdatasync", "ftruncate"}:
            opened = _OPENED.match(words)
            paths = [opened["path"]] if opened else []
        else:
            paths = [each["path"] for each in _NAMED.finditer(words)]
        done = found["result"] not in {"?", "-1"}
        yield Traced(found["name"], tuple(path.removesuffix(" (deleted)") for path in paths), words, done)


def moments(calls: Sequence[Traced], *folders: Path) -> list[tuple[str, int]]:
    """Return each call that changes something below *folders* or prints the answer: its name, the how manieth of its name.

    So it can be named to strace in another run of the same command.
    """
    counted: dict[str, int] = {}
    found: list[tuple[str, int]] = []
    for call in calls:
        counted[call.name] = counted.get(call.name, 0) + 1
        inside = any(
            path.startswith(f"{folder}{os.sep}") or path == str(folder)
            for path in call.paths
            for folder in folders
        )
        told = call.name == "write" and os.path.basename(call.path) == ANSWER
        if (inside or told) and (call.name != "openat" or call.makes):
            found.append((call.name, counted[call.name]))
    return found


class Unsynced:
    """What a power cut could take, judged from the order of a command's calls.

    A file is lost until it is flushed after it was written; a name, until its folder is flushed after it
    was made, moved or taken away.
    """

    def __init__(self) -> None:
        self.contents: set[str] = set()
        self.names: set[str] = set()

    def see(self, call: Traced) -> None:
        """Take one more call into account."""
        if not call.done:
            return
        if call.name in {"write", "pwrite64", "ftruncate"}:
            self.contents.add(call.path)
        elif call.name in {"fsync", "fdatasync"}:
            self.contents.discard(call.path)
            self.names -= {name for name in self.names if os.path.dirname(name) == call.path}
        elif call.name.startswith("rename"):
            old, new = call.paths[0], call.paths[-1]
            if old in self.contents:
                self.contents.discard(old)
                self.contents.add(new)
            self.names.discard(old)
            self.names.add(new)
        elif call.name.startswith("unlink"):
            self.contents.discard(call.path)
            self.names.discard(call.path)
        elif call.name.startswith(("mkdir", "link")) or call.makes:
            self.names.add(call.path)
