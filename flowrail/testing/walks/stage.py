"""Run the commands of a walk in this process, on a store of their own.

A stage takes the words of a printed command and returns what the command would answer. A walk therefore goes
through the same commands as an agent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from flowrail.errors import FlowError
from flowrail.formatters.guidance import as_data, as_text, as_xml
from flowrail.formatters.guidance import work as as_working
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.agents import Handed
from flowrail.machines.engine.outcome import Call, call_plainly
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.sessions.session import COMPLETED
from flowrail.operations.running import (
    agents,
    findings,
    questions,
    steps,
)
from flowrail.operations.running.open_workflow import open_skill
from flowrail.operations.running.world import World

NAMED = "named by path"
"""The origin of a folder of skills that is searched because the user named a path in it."""


class Reply(NamedTuple):
    """What a command answered: exit status, JSON, and for a step also XML and text."""

    words: tuple[str, ...]
    status: int
    data: Mapping[str, Any]
    xml: str | None = None
    text: str | None = None

    @property
    def session(self) -> str:
        """The id of the session in the answer."""
        return str(self.data["session"])

    @property
    def problem(self) -> str:
        """What went wrong, on one line; empty if nothing did."""
        error = self.data.get("error")
        if self.status == 0 and not error:
            return ""
        detail = f": {error['message']} [{error['code']}]" if error else ""
        return f"exit status {self.status}{detail}"


class Stage(Protocol):
    """Runs commands and knows their workflows."""

    def run(self, words: Sequence[str]) -> Reply:
        """Run one command, given as its words without ``flow``."""

    def workflow(self, address: str) -> Workflow:
        """Return the workflow at *address*, ready to run."""

    def complete(self, session_id: str) -> bool:
        """Complete an agent's session without walking it; return false if the stage cannot do that."""


class InProcessStage:
    """A stage in this process."""

    def __init__(self, world: World, *, call: Call = call_plainly) -> None:
        self.world = world
        self.call = call
        self._workflows: dict[str, Workflow] = {}
        self._verbs: Mapping[str, Callable[[_CommandLine], Any]] = {
            "start": self._start,
            "step": self._step,
            "resume": self._resume,
            "claim": self._claim,
            "finish": self._finish,
            "answer": self._answer,
            "finding": self._finding,
            "session": self._abandon,
        }

    def run(self, words: Sequence[str]) -> Reply:
        """Run one command."""
        given = tuple(words)
        try:
            return _reply(given, self._verbs[given[0]](_CommandLine(given[1:])))
        except FlowError as error:
            body = {"code": error.code, "message": error.message, "hint": str(error.hint)}
            return Reply(given, error.exit_status, {"error": body})

    def workflow(self, address: str) -> Workflow:
        """Return a workflow, loaded once."""
        if address not in self._workflows:
            self._workflows[address] = open_skill(address, self.world.roots, self.world.state).workflow
        return self._workflows[address]

    def complete(self, session_id: str) -> bool:
        """Complete an agent's session as if all its steps had been walked."""
        with self.world.store.change(session_id) as change:
            ended = change.kept.session._replace(status=COMPLETED, step=None, dispatches=(), questions=())
            change.commit(ended, kind="move", at=self.world.now(), by=self.world.by)
        return True

    def _start(self, line: _CommandLine) -> Any:
        return steps.begin(self.world, line.arguments[0], line.values("-p"))

    def _step(self, line: _CommandLine) -> Any:
        return steps.report(
            self.world,
            line.arguments[0],
            line.arguments[1],
            facts=line.values("-s"),
            session_id=line.one("--session"),
            expect=int(line.one("--expect") or 0),
            call=self.call,
        )

    def _resume(self, line: _CommandLine) -> Any:
        return steps.resume(self.world, line.arguments[0])

    def _claim(self, line: _CommandLine) -> Any:
        return agents.claim(self.world, line.arguments[0], line.arguments[1], token=line.one("--token"))

    def _finish(self, line: _CommandLine) -> Any:
        session, dispatch, outcome = line.arguments
        ended = agents.finish(self.world, session, dispatch, outcome, token=line.one("--token") or "")
        return as_working.ended_data(ended)

    def _answer(self, line: _CommandLine) -> Any:
        return questions.answer(
            self.world,
            line.arguments[0],
            {name: [label] for name, label in _pairs(line.arguments[1:]).items()},
            line.one("--reason") or "",
        )

    def _finding(self, line: _CommandLine) -> Any:
        severity, text = line.one("--severity") or "", line.one("--text") or ""
        home, found = findings.add_finding(self.world, line.arguments[1], severity=severity, text=text)
        return as_working.finding_data(home, found)

    def _abandon(self, line: _CommandLine) -> Any:
        return as_data.session_item(steps.abandon(self.world, line.arguments[1]))


class _CommandLine:
    """The words of a command: arguments, and options that each have a value."""

    def __init__(self, words: Sequence[str]) -> None:
        self.arguments: list[str] = []
        self.options: list[tuple[str, str]] = []
        rest = iter(words)
        for word in rest:
            if word.startswith("-") and len(word) > 1:
                self.options.append((word, next(rest, "")))
            else:
                self.arguments.append(word)

    def every(self, name: str) -> list[str]:
        return [value for option, value in self.options if option == name]

    def values(self, name: str) -> dict[str, str]:
        """Return the NAME=VALUE pairs of an option."""
        return _pairs(self.every(name))

    def one(self, name: str) -> str | None:
        return next(iter(self.every(name)), None)


def _reply(words: tuple[str, ...], answer: Any) -> Reply:
    if isinstance(answer, steps.Answer):
        guidance: Guidance = answer.guidance
        return Reply(words, 0, as_data.render(guidance), as_xml.render(guidance), as_text.render(guidance))
    if isinstance(answer, Handed):
        return Reply(words, 0, as_working.handed_data(answer), text=as_working.handed_text(answer))
    return Reply(words, 0, answer)


def _pairs(texts: Sequence[str]) -> dict[str, str]:
    return dict(text.split("=", 1) for text in texts)
