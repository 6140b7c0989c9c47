"""A fleet in a test: a pool whose agents are stand-ins, and workers as real processes."""

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

from support.sandbox import ENTRY, flow, put_skill, told

AGENT = Path(__file__).parent / "stand_in_agent.py"
PROGRAMS = Path(__file__).parent / "programs"
POOL = "stand-ins"
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


def configure(*, program: str = "", **limits: object) -> None:
    """Configure the pool, and approve the project for it. *program* is `claude` or `codex`."""
    home = Path(os.environ["HOME"])
    memory = home / "memory"
    memory.mkdir(exist_ok=True)
    lines = [
        f"[pools.{POOL}]",
        f'program = "{program}"' if program else f'command = ["{sys.executable}", "{AGENT}", "{memory}"]',
        *(f"{name} = {value}" for name, value in {"slots": 8, "retry_seconds": 0.1, **limits}.items()),
    ]
    file = home / ".config" / "flowrail" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("\n".join(lines) + "\n")
    shown = flow("fleet", "trust", "--digest", "0").out
    digest = shown.partition("digest ")[2].split()[0]
    assert flow("fleet", "trust", "--digest", digest).status == 0


@contextmanager
def worker(*words: str, env: Mapping[str, str] | None = None) -> Iterator[subprocess.Popen[str]]:
    """Run a worker as a process, and stop it at the end. *env* is added to its environment."""
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY, "fleet", "worker", "--pool", POOL, *words],
        env={
            **os.environ,
            "PATH": f"{PROGRAMS}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            **(env or {}),
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


def run_session(skill: str, *words: str) -> str:
    """Start a session in the pool and return its id."""
    return str(told("fleet", "run", skill, "--pool", POOL, *words)["session"])


def until(holds: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Return the status of the fleet as soon as it meets a condition; fail if nothing changes for two minutes.

    Its database may be unavailable in the meantime.
    """
    newest: object = None
    deadline = time.monotonic() + _STUCK_SECONDS
    while True:
        ran = flow("fleet", "status", "--runs", "1000", "--json")
        if ran.status == 0:
            status: dict[str, Any] = ran.data
            if holds(status):
                return status
            progress = [status[part] for part in ("sessions", "running", "runs")]
            if progress != newest:
                newest, deadline = progress, time.monotonic() + _STUCK_SECONDS
        assert time.monotonic() < deadline, ran
        time.sleep(0.3)


def works_on(target: str) -> Callable[[dict[str, Any]], bool]:
    """Return whether an agent works on a target."""
    return lambda status: any(start["target"] == target for start in status["running"])


def worker_of(status: Mapping[str, Any], target: str) -> int:
    """Return the process of the worker whose agent works on a target."""
    workers = {known["id"]: known["pid"] for known in status["workers"]}
    return int(next(workers[start["worker"]] for start in status["running"] if start["target"] == target))


def ended(session: str) -> Callable[[dict[str, Any]], bool]:
    """Return whether a session has ended or was given up, and all runs are recorded."""
    ends = {"completed", "failed", "abandoned", "given up"}
    return lambda status: (
        not status["running"]
        and any(known["session"] == session and known["state"] in ends for known in status["sessions"])
    )


def outcomes(status: Mapping[str, Any], target: str) -> list[str]:
    """Return the outcomes of the runs of a target, oldest first."""
    return [run["outcome"] for run in status["runs"] if run["target"] == target]
