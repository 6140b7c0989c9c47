"""Run each command of a walk as a process of its own, as an agent does."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from flowrail.command import Command, Option
from flowrail.machines.definition.workflow import Workflow
from flowrail.operations.environment import World
from flowrail.operations.running.open_workflow import open_skill
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

    def run(self, command: Command) -> Reply:
        """Run one command and read its JSON; `resume` runs a second time for its XML."""
        words = self._with_location(command).words[1:]
        status, out, err = self._answer([*words, "--json"])
        data = _document(out, err)
        with_xml = command.verb == "resume" and not status
        return Reply(status, data, self._answer([*words, "--format", "xml"])[1] if with_xml else None)

    def workflow(self, address: str) -> Workflow:
        """Return a workflow, to plan its walks."""
        return open_skill(address, self.world.roots, self.world.state).workflow

    def assume_evidence(self, *, passed: bool) -> None:
        """Do nothing: processes check the evidence themselves."""

    def complete(self, session_id: str) -> bool:
        """Return false: every session is walked."""
        del session_id
        return False

    def _with_location(self, command: Command) -> Command:
        roots = tuple(root.path for root in self.world.roots if root.origin == NAMED)
        if command.verb in {"start", "step"}:
            command = command.with_options(root=roots)
        return command.with_store(self.world.store.address)

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


def _document(out: str, err: str) -> dict[str, object]:
    try:
        data = json.loads(out)
    except ValueError:
        data = None
    if isinstance(data, dict):
        return {name: _with_commands(name, value) for name, value in data.items()}
    output = " ".join((err or out).split())[-300:]
    return {"error": {"code": "NO_ANSWER", "message": f"the command printed no JSON: {output}", "hint": ""}}


def _with_commands(name: str, value: object) -> object:
    """Return a value of an answer with the lines in it that are commands as `Command` values."""
    if isinstance(value, dict):
        return {key: _with_commands(key, item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_commands(name, item) for item in value]
    is_command = name in {"command", "finish"} or name.endswith("_command")
    return typed(value) if is_command and isinstance(value, str) else value


def typed(line: str) -> Command:
    """Return the command that a shell would run for a printed *line*."""
    _, verb, *words = shlex.split(line)
    if verb in {"finding", "session"}:
        verb = f"{verb} {words.pop(0)}"
    arguments = list(takewhile(lambda word: not word.startswith("-"), words))
    options: dict[str, Option] = {}
    pairs = zip(words[len(arguments) :: 2], words[len(arguments) + 1 :: 2], strict=False)
    values: dict[str, dict[str, object]] = {"-s": {}, "-p": {}}
    for option, value in pairs:
        if option in values:
            name, _, text = value.partition("=")
            values[option][name] = text
        else:
            options[option.removeprefix("--").replace("-", "_")] = value
    store = options.pop("store", None)
    found = Command(
        verb, *arguments, store=str(store) if store else None, facts=values["-s"], params=values["-p"]
    )
    return found.with_options(**options)
