"""Commands in children of this process, which have everything imported: they start twenty times as fast as a new Python."""

from __future__ import annotations

import atexit
import os
import pty
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NoReturn

from support.sandbox import Ran

from flowrail.__main__ import main

_PAUSE = 0.01


class Child:
    """A running command, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Return the exit status, or `None` while the command runs."""
        if self.returncode is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.returncode = os.waitstatus_to_exitcode(status) if pid else None
        return self.returncode

    def wait(self, timeout: float = 60) -> int:
        """Wait for the end and return the exit status."""
        end = time.monotonic() + timeout
        while (status := self.poll()) is None:
            if time.monotonic() > end:
                self.send_signal(signal.SIGKILL)
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
            time.sleep(_PAUSE)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the command has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class RecordedChild(Child):
    """A running command whose output is in files of a folder."""

    def __init__(self, pid: int, folder: Path) -> None:
        super().__init__(pid)
        self._folder = folder

    @property
    def out(self) -> bytes:
        """What it has written to standard output so far."""
        return (self._folder / "out").read_bytes()

    @property
    def err(self) -> bytes:
        """What it has written to standard error so far."""
        return (self._folder / "err").read_bytes()

    def ran(self) -> Ran:
        """Wait for its end and return its result."""
        return Ran(self.wait(), self.out.decode(), self.err.decode())


def start_recorded(words: list[str], *, stdin: str = "", before: str = "") -> RecordedChild:
    """Run a command in a child with a process group of its own, and keep its output in the test's home."""
    folder = Path(tempfile.mkdtemp(dir=os.environ["HOME"]))
    (folder / "in").write_text(stdin, encoding="utf-8")
    with (
        (folder / "in").open("rb") as given,
        (folder / "out").open("wb") as out,
        (folder / "err").open("wb") as err,
    ):
        streams = {number: stream.fileno() for number, stream in enumerate((given, out, err))}
        child = start(words, streams=streams, before=before, prepare=os.setsid)
    return RecordedChild(child.pid, folder)


def start(
    words: list[str],
    *,
    streams: Mapping[int, int],
    env: Mapping[str, str] | None = None,
    before: str = "",
    prepare: Callable[[], object] = lambda: None,
) -> Child:
    """Run a command in a child.

    *streams* are its descriptors 0, 1 and 2 by descriptors of this process; one that is missing is closed. *prepare* is
    called with them, then *before* is run as Python.
    """

    def run() -> int:
        kept = {theirs: os.dup(ours) for theirs, ours in streams.items()}
        for number in range(3):
            if number in kept:
                os.dup2(kept[number], number)
            else:
                os.close(number)
        prepare()
        return _flow(words, env, before)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child runs one command and ends
        pid = os.fork()
    return Child(pid) if pid else _end(run)


def start_at_terminal(
    words: list[str],
    *,
    env: Mapping[str, str] | None = None,
    before: str = "",
    prepare: Callable[[], object] = lambda: None,
) -> tuple[Child, int]:
    """Run a command at a terminal of its own, and return also the other side of the terminal."""

    def run() -> int:
        prepare()
        return _flow(words, env, before)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        pid, terminal = pty.fork()
    return (Child(pid), terminal) if pid else _end(run)


def _flow(words: list[str], env: Mapping[str, str] | None, before: str) -> int:
    """Run a command as a new Python would: with its own streams, environment, handlers of signals and of the end."""
    atexit._clear()
    warnings.resetwarnings()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if env is not None:
        os.environ.clear()
        os.environ.update(env)
    sys.stdin, sys.stdout, sys.stderr = _stream(0, "r"), _stream(1, "w"), _stream(2, "w")
    sys.argv = ["flow", *words]
    exec(before, {})  # noqa: S102 - Python of a test
    return main()


def _stream(number: int, mode: str) -> Any:
    """Return the stream of a descriptor, or `None` if it is closed, as Python does."""
    try:
        return open(number, mode, encoding="utf-8", closefd=False, buffering=-1 if number < 2 else 1)
    except OSError:
        return None


def _end(run: Callable[[], int]) -> NoReturn:
    """Run a command in a child, and end the child as Python ends."""
    status = 1
    try:
        status = run()
    except SystemExit as error:
        status = error.code if isinstance(error.code, int) else 1
    except BaseException:  # noqa: BLE001 - what ends Python is printed
        traceback.print_exc()
    try:
        threading._shutdown()  # type: ignore[attr-defined] # it waits for threads
        atexit._run_exitfuncs()
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        status = 120
    finally:
        os._exit(status)
