"""Run an agent's program in a process group of its own, which ends with its worker.

The program runs below a small supervisor that reads a pipe from the worker. If the worker ends in any way, the pipe
closes, and the supervisor kills the group, itself included.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

_POLL = 0.1
NOT_STARTED = 127
"""The exit status of the supervisor if the program could not be started."""

_SUPERVISOR = f"""
import os, signal, subprocess, sys, threading

def end_with_worker():
    sys.stdin.buffer.read()
    os.killpg(0, signal.SIGKILL)

threading.Thread(target=end_with_worker, daemon=True).start()
with open(sys.argv[1], "rb") as prompt:
    try:
        program = subprocess.Popen(sys.argv[2:], stdin=prompt)
    except OSError as error:
        print(f"flow: {{sys.argv[2]}} could not be started: {{error.strerror}}", flush=True)
        os._exit({NOT_STARTED})
status = program.wait()
os._exit(status if status >= 0 else 128 - status)
"""


@dataclass(frozen=True)
class Ended:
    """How a program ended."""

    status: int | None
    """Its exit status, or `None` if it was killed."""
    reason: str = ""
    """Why it was killed."""


TIMED_OUT, STOPPED = "time limit", "worker stopped"


def run(
    command: Sequence[str],
    *,
    folder: str,
    environ: Mapping[str, str],
    prompt: str,
    log: str,
    seconds: float,
    stop: threading.Event,
) -> Ended:
    """Run *command* in *folder* with the file *prompt* as its standard input, and its output in the file *log*.

    After *seconds*, or as soon as *stop* is set, the whole process group is killed. The same happens
    when the program ends, so that its background processes end, too.
    """
    with open(log, "wb") as output:
        supervisor = subprocess.Popen(
            [sys.executable, "-I", "-c", _SUPERVISOR, prompt, *command],
            cwd=folder,
            env=dict(environ),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + seconds
    reason = ""
    try:
        while supervisor.poll() is None and not reason:
            if time.monotonic() > deadline:
                reason = TIMED_OUT
            elif stop.wait(_POLL):
                reason = STOPPED
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(supervisor.pid, signal.SIGKILL)
        supervisor.wait()
        if supervisor.stdin is not None:
            supervisor.stdin.close()
    return Ended(None if reason else supervisor.returncode, reason)
