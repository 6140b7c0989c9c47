"""A stage whose commands are processes of their own: the command line itself, as an agent runs it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from flowrail.machines.definition.workflow import Workflow
from flowrail.operations.running.open_workflow import open_skill
from flowrail.operations.running.steps import World
from flowrail.testing.walks.stage import NAMED, Reply

LIMIT = 120.0  # seconds
_FORMS = frozenset({"start", "step", "resume", "claim", "answer"})
Run = Callable[..., subprocess.CompletedProcess[str]]


class AsProcess:
    """Runs every command as ``python -P -m flowrail``."""

    def __init__(
        self,
        world: World,
        *,
        environ: Mapping[str, str] | None = None,
        limit: float = LIMIT,
        run: Run = subprocess.run,
    ) -> None:
        self.world = world
        self._environ = {**(os.environ if environ is None else environ), "PYTHONUTF8": "1"}
        self._limit = limit
        self._run = run

    def run(self, words: Sequence[str]) -> Reply:
        """Run one command for its JSON; a step shown again is asked for as XML too."""
        given = tuple(words)
        full = [*given, *self._places(given)]
        status, out, err = self._answer([*full, "--json"])
        data = _document(out, err)
        xml = self._answer([*full, "--format", "xml"])[1] if given[0] == "resume" and not status else None
        return Reply(given, status, data, xml)

    def workflow(self, address: str) -> Workflow:
        """Return a workflow, to plan its walks by."""
        return open_skill(address, self.world.roots, self.world.state).workflow

    def settle(self, session_id: str) -> bool:
        """Return that nothing is cut short here."""
        del session_id
        return False

    def _places(self, words: tuple[str, ...]) -> list[str]:
        store = [] if "--store" in words else ["--store", self.world.store.path]
        roots = [root.path for root in self.world.roots if root.origin == NAMED]
        takes_roots = words[0] in {"start", "step"}
        return [*store, *(word for path in roots if takes_roots for word in ("--root", path))]

    def _answer(self, words: Sequence[str]) -> tuple[int, str, str]:
        try:
            done = self._run(
                [sys.executable, "-P", "-m", "flowrail", *words],
                capture_output=True,
                text=True,
                encoding="utf-8",
                timeout=self._limit,
                env=self._environ,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return 124, "", f"no answer within {self._limit:g} seconds"
        return done.returncode, done.stdout, done.stderr


def exit_status(words: Sequence[str], *, environ: Mapping[str, str] | None = None) -> int:
    """Return the exit status of one command, run as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "flowrail", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=LIMIT,
        env=dict(os.environ if environ is None else environ),
        check=False,
    )
    return done.returncode


def _document(out: str, err: str) -> dict[str, Any]:
    try:
        data = json.loads(out)
    except ValueError:
        data = None
    if isinstance(data, dict):
        return data
    told = " ".join((err or out).split())[-300:]
    return {"error": {"code": "NO_ANSWER", "message": f"no JSON was answered: {told}", "hint": ""}}
