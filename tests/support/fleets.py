"""A fleet in a test: a program whose agents are stand-ins, and workers as real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import ENTRY, flow, put_skill, told

from flowrail.operations.environment import Environment

pytest.importorskip("dbos", reason="the extra `fleet` is not installed")

from flowrail.fleet import folders

AGENT = Path(__file__).parent / "stand_in_agent.py"
PROGRAMS = Path(__file__).parent / "programs"
PROGRAM = "stand-ins"
_STUCK_SECONDS = 120

TRIAL = """\
name: NAME
description: Looks at things with agents. For trying a fleet.
params: {kinds: {type: list, default: [finish]}}
steps:
  - id: gather
    title: Gather
    actions: [Have it looked at.]
    dispatch: {agent: explore, workflow: NAME/look, over: kinds, vars: {kind: $item}, join: at least 1}
    next: {ok: tell, fail: null}
  - {id: tell, title: Tell, actions: [Say what was found.], next: {ok: null}}
"""
LOOK = """\
name: NAME/look
description: Looks at one thing.
params: {kind: {type: string, required: true, example: finish}}
steps:
  - {id: first, title: "First, behave=$kind", actions: [Look.], next: {ok: second, fail: null}}
  - id: second
    title: "Second, behave=$kind"
    actions: [Look again.]
    evidence: {ok: [{id: seen, file: "seen-$kind.txt", contains: [seen]}]}
    next: {ok: null, fail: null}
"""
PROMPTED = """\
name: NAME
description: Looks at things with prompts. For trying a fleet.
params: {kinds: {type: list, default: [finish]}}
steps:
  - id: gather
    title: Gather
    actions: [Have it looked at.]
    dispatch: {agent: explore, prompt: steps/look.md, over: kinds, join: at least 1}
    next: {ok: null, fail: null}
"""


def put_trial() -> None:
    """Write a skill whose agents run a workflow of their own."""
    put_skill("trial", TRIAL, texts={"workflows/look.yaml": LOOK})


def put_prompted() -> None:
    """Write a skill whose agents work from a prompt."""
    put_skill("prompted", PROMPTED, texts={"steps/look.md": "Look at it, behave=$item\n"})


def configure(**limits: object) -> None:
    """Configure the fleet, and approve the project for it."""
    home = Path(os.environ["HOME"])
    memory = home / "memory"
    memory.mkdir(exist_ok=True)
    lines = [
        "[fleet]",
        *(f"{name} = {value}" for name, value in {"slots": 8, "retry_seconds": 0.1, **limits}.items()),
        "[fleet.programs]",
        f'{PROGRAM} = ["{sys.executable}", "{AGENT}", "{memory}"]',
    ]
    file = home / ".config" / "flowrail" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n")
    approve_folder()


def approve_folder() -> None:
    """Approve the project for agents, as a person does at the terminal of a worker."""
    environment = Environment(confirm=lambda _: None)
    folders.approve(environment)


@contextmanager
def worker(*words: str, program: str = PROGRAM, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """Run a worker as a process, and stop it at the end. *before* is Python that runs first."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{before}\n{ENTRY}", "fleet", "worker", "--program", program, *words],
        env={
            **os.environ,
            "PATH": f"{PROGRAMS}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        },
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGCONT)
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)


def run_session(skill: str, *words: str, program: str = PROGRAM) -> str:
    """Start a session that workers run and return its id."""
    return str(told("fleet", "run", skill, "--program", program, *words)["session"])


def until(holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Return the status of the fleet as soon as it meets a condition; fail if nothing changes for two minutes.

    Its database may be unavailable in the meantime.
    """
    newest: object = None
    deadline = time.monotonic() + _STUCK_SECONDS
    while True:
        ran = flow("fleet", "status", "--jobs", "1000", "--json")
        if ran.status == 0:
            status: dict[str, Any] = ran.data
            if holds(status):
                return status
            progress = [status["sessions"], status["jobs"]]
            if progress != newest:
                newest, deadline = progress, time.monotonic() + _STUCK_SECONDS
        assert time.monotonic() < deadline, ran
        time.sleep(0.3)


def running(status: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the jobs that a worker runs."""
    return [job for job in status["jobs"] if job["state"] == "running"]


def works_on(target: str) -> Callable[[dict[str, Any]], bool]:
    """Return whether a worker runs a job for a target."""
    return lambda status: any(job["target"] == target for job in running(status))


def worker_of(status: Mapping[str, Any], target: str) -> int:
    """Return the process of the worker that runs a job for a target."""
    workers = {known["id"]: known["pid"] for known in status["workers"]}
    return int(next(workers[job["worker"]] for job in running(status) if job["target"] == target))


def ended(session: str) -> Callable[[dict[str, Any]], bool]:
    """Return whether the fleet has finished with a session, and all jobs have ended."""
    return lambda status: (
        all(job["state"] == "ended" for job in status["jobs"])
        and any(known["session"] == session and not known["open"] for known in status["sessions"])
    )


def runs_of(status: Mapping[str, Any], target: str) -> list[dict[str, Any]]:
    """Return the complete runs for a target, oldest first."""
    return [run for job in status["jobs"] if job["target"] == target for run in job["runs"]]


def outcomes(status: Mapping[str, Any], target: str) -> list[str]:
    """Return the outcomes of the runs for a target, oldest first."""
    return [run["outcome"] for run in runs_of(status, target)]
