"""Run a program without a shell, in a process group of its own that ends with it; limits of time and of output."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import subprocess

_LONGEST_PAUSE = 0.05


class EndedProcess(NamedTuple):
    """How a program ended. ``status`` is `None` if it was killed at a limit, and ``problem`` says at which."""

    status: int | None
    output: bytes
    errors: bytes
    seconds: float
    problem: str = ""


@contextmanager
def time_limit(seconds: float, error: type[BaseException]) -> Iterator[None]:
    """Raise *error* in what the main thread does after *seconds*, unless the program has an alarm of its own.

    The alarm rings every second until it is heard: an exception that is raised in a destructor is lost.
    """
    is_main = threading.current_thread() is threading.main_thread()  # signals reach no other thread
    if not is_main or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def ring(_number: int, _frame: object) -> None:
        raise error

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def run(
    words: Sequence[str],
    *,
    folder: str,
    environ: Mapping[str, str],
    seconds: float,
    most_output: int,
    errors_apart: bool = False,
) -> EndedProcess:
    """Run a program in *folder* and return its output, which contains its errors unless *errors_apart* is set.

    It is killed with everything that it started after *seconds*, if it prints more than *most_output* bytes, and when it
    has ended. Raises `OSError` or `ValueError` if it cannot be started.
    """
    import subprocess  # 6 ms, and most commands run nothing
    import tempfile

    started = time.monotonic()
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            list(words),
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors if errors_apart else subprocess.STDOUT,
            start_new_session=True,
        )
        with process:
            try:
                problem = _wait(process, output, started + seconds, most_output)
            finally:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
        spent = round(time.monotonic() - started, 3)
        output.seek(0)
        errors.seek(0)
        status = None if problem else process.returncode
        return EndedProcess(status, output.read(most_output), errors.read(most_output), spent, problem)


def _wait(process: subprocess.Popen[bytes], output: IO[bytes], deadline: float, most_output: int) -> str:
    """Wait for *process*; return why it was stopped, or nothing if it ended by itself."""
    pause = 0.001
    while process.poll() is None:
        if time.monotonic() > deadline:
            return "it ran into its time limit"
        if os.fstat(output.fileno()).st_size > most_output:
            return f"it printed more than {most_output // 1024 // 1024} MB"
        time.sleep(pause)
        pause = min(_LONGEST_PAUSE, 2 * pause)
    return ""
