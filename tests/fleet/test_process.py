"""The program of an agent: its time limit, and that it ends with its worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from flowrail.fleet import process

FAMILY = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open("pids", "w").write(f"{os.getpid()} {child.pid}")
time.sleep(600)
"""


def run(*command: str, seconds: float = 60.0) -> process.Ended:
    Path("prompt").write_text("What to do.\n")
    return process.run(
        command,
        folder=os.getcwd(),
        environ=os.environ,
        prompt="prompt",
        log="log",
        seconds=seconds,
        stop=threading.Event(),
    )


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def started_family() -> list[int]:
    """Wait for the family and return its processes."""
    while not Path("pids").exists() or len(Path("pids").read_text().split()) < 2:
        time.sleep(0.05)
    return [int(pid) for pid in Path("pids").read_text().split()]


def until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 30
    while any(map(is_alive, pids)):
        assert time.monotonic() < deadline, pids
        time.sleep(0.05)


def test_a_killed_worker_takes_its_agents_along() -> None:
    code = f"""
import os, threading
from flowrail.fleet import process
open("prompt", "w").close()
process.run([{sys.executable!r}, "-c", {FAMILY!r}], folder=".", environ=os.environ, prompt="prompt", log="log",
    seconds=600, stop=threading.Event())
"""
    worker = subprocess.Popen([sys.executable, "-c", code])
    family = started_family()
    assert all(map(is_alive, family))

    worker.send_signal(signal.SIGKILL)
    worker.wait()

    until_gone(family)
