"""Run one command to its end, even if the process that asked for it is killed.

`flowrail.evidence.runs` starts this file as a program of its own: it imports nothing of flowrail. It works in the folder of
one run, which contains:

- ``command.json``: the arguments, the project's folder, the time limit, and the patterns of facts.
- ``lock``: locked as long as the supervisor lives. The command does not inherit the lock.
- ``begun``: written before the command is started, with the process id of the supervisor. If the lock is free, and
  ``begun`` exists but ``ended.json`` does not, nobody knows how the command ended.
- ``output-OFFSET``: the output from that byte on. Only the newest two of these files are kept.
- ``ended.json``: the exit status, and what was found in the output. It is written before the lock is released.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping

KEPT = 1024 * 1024
"""The last bytes of the output that are always kept."""
_LONGEST_LINE = 64 * 1024
"""A longer line is searched for facts in pieces of this size."""
_PAUSE = 0.05
_GRACE = 5.0
"""The seconds between SIGTERM and SIGKILL at the time limit."""
_LAST_WORDS = 0.5
"""The seconds for which output is read after the command has ended, if a process that it left behind keeps it open."""
_DISK_FULL = 60
"""The seconds for which the end is tried to be written."""


def main(folder: str, ready: int) -> None:
    """Run the command of *folder*, unless another supervisor does or did. Write a byte to *ready* when it is certain."""
    lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    if not _take(lock) or os.path.exists(os.path.join(folder, "begun")):
        return
    with open(os.path.join(folder, "command.json"), encoding="utf-8") as file:
        command = json.load(file)
    write_durably(folder, "begun", str(os.getpid()).encode())
    with contextlib.suppress(OSError):  # the process that asked was killed
        os.write(ready, b"1")
    os.close(ready)
    ended = json.dumps(_Run(folder, command).ended()).encode()
    for _ in range(_DISK_FULL):
        with contextlib.suppress(OSError):
            write_durably(folder, "ended.json", ended)
            break
        time.sleep(1)


def _take(lock: int) -> bool:
    """Take the lock. A process that looks at the state of the run holds it for a moment."""
    for _ in range(400):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.005)
    return False


def write_durably(folder: str, name: str, data: bytes) -> None:
    """Write a whole file and flush it, so that it exists completely or not at all."""
    temporary = os.path.join(folder, f".{name}.tmp")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, data)
        os.fsync(fd)
    finally:
        os.close(fd)
    os.replace(temporary, os.path.join(folder, name))
    directory = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


class _Run:
    """One run of a command."""

    def __init__(self, folder: str, command: Mapping[str, object]) -> None:
        self.command = command
        self.output = _Output(folder)
        self.facts = _Facts(command["facts"])  # type: ignore[arg-type]
        self.started = time.monotonic()
        self.problem = ""

    def ended(self) -> dict[str, object]:
        """Run the command and return how it ended."""
        status: int | None = None
        try:
            process = subprocess.Popen(
                self.command["run"],  # type: ignore[call-overload]
                cwd=self.command["folder"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self.problem = f"it could not be started: {getattr(error, 'strerror', None) or error}"
        else:
            status = self._wait(process)
        return {
            "status": status,
            "seconds": round(time.monotonic() - self.started, 3),
            "problem": self.problem,
            "bytes": self.output.size,
            "digest": self.output.digest.hexdigest(),
            "facts": self.facts.found(),
        }

    def _wait(self, process: subprocess.Popen[bytes]) -> int:
        assert process.stdout is not None  # noqa: S101 - it is a pipe
        pipe: int | None = process.stdout.fileno()
        _pass_on_signals(process)
        limit = self.started + float(self.command["timeout"])  # type: ignore[arg-type]
        last_words: float | None = None
        while True:
            ready = pipe is not None and select.select([pipe], [], [], _PAUSE)[0]
            data = os.read(pipe, 1 << 16) if ready and pipe is not None else b""
            if data:
                self.output.write(data)
                self.facts.read(data)
            elif ready:
                pipe = None
            now = time.monotonic()
            if process.poll() is not None:
                last_words = last_words or now + _LAST_WORDS
                if not data or now > last_words:
                    return process.returncode
            elif now > limit:
                self.problem = f"it was stopped at its time limit of {self.command['timeout']:g} seconds"
                _stop(process, signal.SIGKILL if now > limit + _GRACE else signal.SIGTERM)
            if pipe is None and process.returncode is None:
                time.sleep(_PAUSE)


def _pass_on_signals(process: subprocess.Popen[bytes]) -> None:
    """Pass the signals of a user, or of a machine that shuts down, to the command; its end is recorded as always."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda received, _: _stop(process, received))
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def _stop(process: subprocess.Popen[bytes], number: int) -> None:
    """Send a signal to the command and to what it started in its own process group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


class _Output:
    """The end of the output, in files of at most `KEPT` bytes. A full disk loses output, and nothing else."""

    def __init__(self, folder: str) -> None:
        self.size = 0
        self.digest = hashlib.sha256()
        self._folder = folder
        self._offsets: list[int] = []
        self._file: int | None = None

    def write(self, data: bytes) -> None:
        """Add *data* to the output."""
        with contextlib.suppress(OSError):
            if self._file is None or self.size - self._offsets[-1] >= KEPT:
                self._begin_file()
            os.write(self._file, data)  # type: ignore[arg-type]  # it was begun
        self.size += len(data)
        self.digest.update(data)

    def _begin_file(self) -> None:
        if self._file is not None:
            os.close(self._file)
        if len(self._offsets) > 1:
            os.unlink(self._path(self._offsets.pop(0)))
        self._offsets.append(self.size)
        self._file = os.open(
            self._path(self.size), os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600
        )

    def _path(self, offset: int) -> str:
        return os.path.join(self._folder, f"output-{offset:020d}")


class _Facts:
    """The facts in the output: of each pattern the last line that matches counts."""

    def __init__(self, patterns: Mapping[str, str]) -> None:
        self._patterns = {name: re.compile(pattern) for name, pattern in patterns.items()}
        self._found: dict[str, str] = {}
        self._rest = b""

    def read(self, data: bytes) -> None:
        """Search the lines that *data* completes, and pieces of a line that is too long."""
        if not self._patterns:
            return
        *lines, self._rest = (self._rest + data).split(b"\n")
        while len(self._rest) > _LONGEST_LINE:
            lines.append(self._rest[:_LONGEST_LINE])
            self._rest = self._rest[_LONGEST_LINE:]
        for line in lines:
            text = line.decode("utf-8", "replace")
            for name, pattern in self._patterns.items():
                match = pattern.search(text)
                if match is not None and match[1] is not None:
                    self._found[name] = match[1]

    def found(self) -> dict[str, str]:
        """Return the facts at the end of the output."""
        self.read(b"\n")
        return self._found


if __name__ == "__main__":
    if (
        os.fork() == 0
    ):  # its parent ends at once, so a host that ends a whole tree of processes does not find it
        main(sys.argv[1], int(sys.argv[2]))
