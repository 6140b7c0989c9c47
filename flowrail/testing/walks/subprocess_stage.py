"""Run each command of a walk as a process of its own, as an agent does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence

from flowrail.machines.definition.workflow import Workflow
from flowrail.operations.running.open_workflow import open_skill
from flowrail.operations.running.world import World
from flowrail.testing.walks.stage import NAMED, Reply

SECONDS_PER_COMMAND = 120.0
RunProcess = Callable[..., subprocess.CompletedProcess[str]]


class SubprocessStage:
    """Runs every command as ``python -P -m flowrail``."""

    def __init__(
        self,
        world: World,
        *,
        environ: Mapping[str, str] | None = None,
        limit: float = SECONDS_PER_COMMAND,
        run: RunProcess = subprocess.run,
    ) -> None:
        self.world = world
        self._environ = {**(os.environ if environ is None else environ), "PYTHONUTF8": "1"}
        self._limit = limit
        self._run = run

    def run(self, words: Sequence[str]) -> Reply:
        """Run one command and read its JSON; `resume` runs a second time for its XML."""
        given = tuple(words)
        full = [*given, *self._location_options(given)]
        status, out, err = self._answer([*full, "--json"])
        data = _document(out, err)
        xml = self._answer([*full, "--format", "xml"])[1] if given[0] == "resume" and not status else None
        return Reply(given, status, data, xml)

    def workflow(self, address: str) -> Workflow:
        """Return a workflow, to plan its walks."""
        return open_skill(address, self.world.roots, self.world.state).workflow

    def complete(self, session_id: str) -> bool:
        """Return false: every session is walked."""
        del session_id
        return False

    def _location_options(self, words: tuple[str, ...]) -> list[str]:
        store = [] if "--store" in words else ["--store", self.world.store.path]
        roots = [root.path for root in self.world.roots if root.origin == NAMED]
        takes_roots = words[0] in {"start", "step"}
        return [*store, *(word for path in roots if takes_roots for word in ("--root", path))]

    def _answer(self, words: Sequence[str]) -> tuple[int, str, str]:
        try:
            process = self._run(
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
        return process.returncode, process.stdout, process.stderr


def exit_status(words: Sequence[str], *, environ: Mapping[str, str] | None = None) -> int:
    """Return the exit status of one command, run as a process of its own."""
    process = subprocess.run(
        [sys.executable, "-P", "-m", "flowrail", *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        timeout=SECONDS_PER_COMMAND,
        env=dict(os.environ if environ is None else environ),
        check=False,
    )
    return process.returncode


def _document(out: str, err: str) -> dict[str, object]:
    try:
        data = json.loads(out)
    except ValueError:
        data = None
    if isinstance(data, dict):
        return data
    output = " ".join((err or out).split())[-300:]
    return {"error": {"code": "NO_ANSWER", "message": f"the command printed no JSON: {output}", "hint": ""}}
