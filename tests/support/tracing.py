"""The system calls of a command, recorded by strace, and a fault at one of them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from support.sandbox import ENTRY, clean_environment

CHANGING = (
    "write,pwrite64,fsync,fdatasync,ftruncate,openat,rename,renameat,renameat2,"
    "mkdir,mkdirat,link,linkat,unlink,unlinkat"
)
"""The calls that change files or flush them; `openat` is recorded if it creates a file."""
ON_DESCRIPTORS = {"write", "pwrite64", "fsync", "fdatasync", "ftruncate"}
ANSWER = "answer"
"""The file that receives standard output."""
_LINE = re.compile(r"^\d+ +(?P<name>\w+)\((?P<words>.*)\) += (?P<result>-?\d+|\?)(?P<more>.*)$")
_OPENED = re.compile(r"\d+<(?P<path>[^>]*)>")
_NAMED = re.compile(r'"(?P<path>[^"]*)"')


class Call(NamedTuple):
    """A system call: its name, its number among the calls of this name, its files, and whether it succeeded."""

    name: str
    number: int
    paths: tuple[str, ...]
    done: bool

    @property
    def path(self) -> str:
        """The file of the call; of two files the new one."""
        return self.paths[-1] if self.paths else ""


class Traced(NamedTuple):
    """A traced command: its exit status (negative: the signal), its output, and its calls."""

    status: int
    out: str
    calls: tuple[Call, ...]


@cache
def unavailable() -> str:
    """Return why strace cannot be used, or an empty text."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    command = ["strace", "-f", "-qq", "-y", "-o", os.devnull, "-e", "trace=write", "true"]
    tried = subprocess.run(command, capture_output=True, check=False)
    return "" if tried.returncode == 0 else "strace is not allowed to trace"


needs_strace = pytest.mark.skipif(bool(unavailable()), reason=unavailable())


def traced(words: Sequence[str], inject: str = "") -> Traced:
    """Run a command under strace; *inject* is a fault in the notation of strace."""
    with tempfile.TemporaryDirectory() as folder:
        log, answer = Path(folder, "log"), Path(folder, ANSWER)
        options = ["-f", "-qq", "-y", "-s", "0", "-o", str(log), "-e", f"trace={CHANGING}"]
        options += ["-e", f"inject={inject}"] if inject else []
        with answer.open("wb") as stdout:
            done = subprocess.run(
                ["strace", *options, sys.executable, "-c", ENTRY, *words],  # noqa: S607
                env={**clean_environment(), "PYTHONDONTWRITEBYTECODE": "1"},
                stdout=stdout,
                stderr=subprocess.DEVNULL,
                check=False,
                timeout=60,
            )
        calls = tuple(_calls(log.read_text(encoding="utf-8", errors="replace")))
        return Traced(done.returncode, answer.read_text(encoding="utf-8"), calls)


def _calls(log: str) -> Iterator[Call]:
    numbers: Counter[str] = Counter()
    for found in filter(None, map(_LINE.match, log.splitlines())):
        name, words = found["name"], found["words"]
        numbers[name] += 1
        if name != "openat" or "O_CREAT" in words:
            opened = _OPENED.match(words) if name in ON_DESCRIPTORS else None
            paths = [opened["path"]] if opened else [each["path"] for each in _NAMED.finditer(words)]
            is_done = found["result"] not in {"?", "-1"}
            yield Call(name, numbers[name], tuple(path.removesuffix(" (deleted)") for path in paths), is_done)


def unflushed(calls: Iterable[Call]) -> set[str]:
    """Return the files that a power cut after *calls* could take.

    The content of a file is safe after the file was flushed, and its name after the folder was flushed.
    """
    contents: set[str] = set()
    names: set[str] = set()
    for call in calls:
        if not call.done:
            continue
        if call.name in {"write", "pwrite64", "ftruncate"}:
            contents.add(call.path)
        elif call.name in {"fsync", "fdatasync"}:
            contents.discard(call.path)
            names -= {name for name in names if os.path.dirname(name) == call.path}
        elif call.name.startswith("unlink"):
            contents.discard(call.path)
            names.discard(call.path)
        else:  # the new name of a file or folder
            if call.name.startswith("rename") and call.paths[0] in contents:
                contents.remove(call.paths[0])
                contents.add(call.path)
            names.discard(call.paths[0])
            names.add(call.path)
    return contents | names
