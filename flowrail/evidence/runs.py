"""Run commands so that nothing is lost if a process is killed: start a run, follow its output, and read how it ended.

Each run has a folder of its own; `flowrail.evidence.supervisor` says what is in it.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import NamedTuple

from flowrail.errors import StorageError
from flowrail.evidence import supervisor
from flowrail.storage.files import list_names, make_private_dir, writing

_SHORTEST_PAUSE, _LONGEST_PAUSE = 0.01, 0.1
_MOST_STARTS = 3


class RunState(StrEnum):
    """What is known of a run."""

    NEW = "new"
    """The command was not started."""
    RUNNING = "running"
    """A supervisor runs the command."""
    ENDED = "ended"
    """The end is recorded."""
    UNKNOWN = "unknown"
    """The supervisor was killed, or the files of the run are gone. The command may have run."""


class EndedCommand(NamedTuple):
    """How a command ended."""

    status: int | None
    """The exit status; negative for a signal, `None` if the command could not be started."""
    seconds: float
    """How long it ran."""
    problem: str
    """Why it was stopped or could not be started."""
    bytes: int
    """The size of its whole output."""
    digest: str
    """The SHA-256 of its whole output."""
    facts: Mapping[str, str]
    """The facts found in its output."""


def prepare(
    folder: str, run: Sequence[str], *, project: str, timeout: float, facts: Mapping[str, str]
) -> None:
    """Write the folder of a new run. The command is started by `start`."""
    make_private_dir(folder)
    command = {"run": list(run), "folder": project, "timeout": timeout, "facts": dict(facts)}
    with writing(folder):
        supervisor.write_durably(folder, "command.json", json.dumps(command).encode())


def state_of(folder: str) -> RunState:
    """Return the state of the run in *folder*."""
    if not os.path.exists(os.path.join(folder, "command.json")):
        return RunState.UNKNOWN
    with writing(folder, "could not be locked"):
        lock = os.open(os.path.join(folder, "lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return RunState.RUNNING
        else:  # no supervisor works while the lock is held
            if os.path.exists(os.path.join(folder, "ended.json")):
                return RunState.ENDED
            has_begun = os.path.exists(os.path.join(folder, "begun"))
            return RunState.UNKNOWN if has_begun else RunState.NEW
        finally:
            os.close(lock)


def start(folder: str, environ: Mapping[str, str]) -> None:
    """Start the command of a new run. If several processes do so at the same time, it is started once."""
    for _ in range(_MOST_STARTS):
        ready, supervisors = os.pipe()
        try:
            words = [sys.executable, "-I", "-S", supervisor.__file__, folder, str(supervisors)]
            done = subprocess.run(
                words,
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[supervisors],
                start_new_session=True,
                check=False,
            )
            os.close(supervisors)
            os.read(ready, 1)  # it is closed at the latest when the supervisor ends
        except OSError as error:
            raise _failed(str(error)) from None
        finally:
            os.close(ready)
        if state_of(folder) is not RunState.NEW:
            return
    raise _failed(f"it exited with {done.returncode}")


def _failed(problem: str) -> StorageError:
    return StorageError(
        f"the command was not started, because the process that supervises it failed to start: {problem}",
        code="SUPERVISOR_FAILED",
        hint="run the command again",
    )


def end_of(folder: str) -> EndedCommand | None:
    """Return how the run ended, or `None` if it did not."""
    try:
        with open(os.path.join(folder, "ended.json"), encoding="utf-8") as file:
            return EndedCommand(**json.load(file))
    except FileNotFoundError:
        return None


def interrupt(folder: str) -> None:
    """Send SIGINT to the command, if it runs."""
    with suppress(OSError, ValueError):
        with open(os.path.join(folder, "begun"), encoding="utf-8") as file:
            supervisors = int(file.read())
        if state_of(folder) is RunState.RUNNING:
            os.kill(supervisors, signal.SIGINT)


def follow(folder: str, write: Callable[[bytes], object] = lambda _: None) -> RunState:
    """Pass the kept output to *write* until the command has ended, and return the state of the run.

    Ctrl-C is passed on to the command.
    """
    position = 0
    pause = _SHORTEST_PAUSE
    while True:
        try:
            state = state_of(folder)
            before = position
            position = _pass_on(folder, position, write)
            if state is not RunState.RUNNING:
                return state
            pause = _SHORTEST_PAUSE if position > before else min(2 * pause, _LONGEST_PAUSE)
            time.sleep(pause)
        except KeyboardInterrupt:
            interrupt(folder)


def _pass_on(folder: str, position: int, write: Callable[[bytes], object]) -> int:
    """Pass the output from *position* on to *write*, and return the new position. Output that is not kept is skipped."""
    for name, offset in _output_files(folder):
        with suppress(FileNotFoundError), open(os.path.join(folder, name), "rb") as file:
            if position < offset:
                write(f"\n… {offset - position} bytes are not shown …\n".encode())
                position = offset
            file.seek(position - offset)
            while data := file.read(1 << 16):
                write(data)
                position += len(data)
    return position


def last_output(folder: str, size: int = supervisor.KEPT) -> bytes:
    """Return at most the last *size* bytes of the output."""
    data = b""
    for name, _ in _output_files(folder):
        with suppress(FileNotFoundError), open(os.path.join(folder, name), "rb") as file:
            data = data[-size:] + file.read()
    return data[-size:]


def _output_files(folder: str) -> list[tuple[str, int]]:
    """Return the files of output with their offsets, in order."""
    names = (name for name in list_names(folder) if name.startswith("output-"))
    return [(name, int(name.removeprefix("output-"))) for name in names]
