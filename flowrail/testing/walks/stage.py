"""Where the commands of a walk run: in this process, on a store of their own.

A stage takes the words of a command as it was printed and gives back what the command would answer, so that
a walk is played through the same lines that an agent would run.
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
from flowrail.operations.running.steps import World

NAMED = "named by path"
"""The origin of a folder of skills that stands in nobody's way but was pointed at."""


class Reply(NamedTuple):
    """What a command answered: its exit status, its JSON, and the other two forms where it tells a step."""

    words: tuple[str, ...]
    status: int
    data: Mapping[str, Any]
    xml: str | None = None
    text: str | None = None

    @property
    def session(self) -> str:
        """The session that was told of."""
        return str(self.data["session"])

    @property
    def problem(self) -> str:
        """What went wrong, on one line; empty where nothing did."""
        error = self.data.get("error")
        if self.status == 0 and not error:
            return ""
        told = f": {error['message']} [{error['code']}]" if error else ""
        return f"exit status {self.status}{told}"


class Stage(Protocol):
    """Runs commands, and knows the workflows that they are about."""

    def run(self, words: Sequence[str]) -> Reply:
        """Run one command, given as its words without ``flow``."""

    def workflow(self, address: str) -> Workflow:
        """Return the workflow at *address*, ready to run."""

    def settle(self, session_id: str) -> bool:
        """End an agent's session as completed without walking it; false where that cannot be done."""


class Inside:
    """A stage in this process."""

    def __init__(self, world: World, *, call: Call = call_plainly) -> None:
        self.world = world
        self.call = call
        self._workflows: dict[str, Workflow] = {}

    def run(self, words: Sequence[str]) -> Reply:
        """Run one command."""
        given = tuple(words)
        try:
            return _replied(given, _VERBS[given[0]](self, _Line(given[1:])))
        except FlowError as error:
            body = {"code": error.code, "message": error.message, "hint": error.hint}
            return Reply(given, error.exit_status, {"error": body})

    def workflow(self, address: str) -> Workflow:
        """Return a workflow, loaded once."""
        if address not in self._workflows:
            self._workflows[address] = open_skill(address, self.world.roots, self.world.state).workflow
        return self._workflows[address]

    def settle(self, session_id: str) -> bool:
        """End an agent's session as if all its steps had been walked."""
        with self.world.store.change(session_id) as change:
            ended = change.kept.session._replace(status=COMPLETED, step=None, dispatches=(), questions=())
            change.commit(ended, kind="move", at=self.world.now(), by=self.world.by)
        return True

    def start(self, line: _Line) -> Any:
        """Begin a session."""
        return steps.begin(self.world, line.arguments[0], line.every("-p"))

    def step(self, line: _Line) -> Any:
        """Report a step."""
        return steps.report(
            self.world,
            line.arguments[0],
            line.arguments[1],
            assignments=line.every("-s"),
            session_id=line.one("--session"),
            expect=int(line.one("--expect") or 0),
            call=self.call,
        )

    def resume(self, line: _Line) -> Any:
        """Show the step again."""
        return steps.resume(self.world, line.arguments[0])

    def claim(self, line: _Line) -> Any:
        """Take a piece of work."""
        return agents.claim(self.world, line.arguments[0], line.arguments[1], token=line.one("--token"))

    def finish(self, line: _Line) -> Any:
        """End a piece of work."""
        session, dispatch, outcome = line.arguments
        ended = agents.finish(self.world, session, dispatch, outcome, token=line.one("--token") or "")
        return as_working.ended_data(ended)

    def answer(self, line: _Line) -> Any:
        """Answer questions."""
        return questions.answer(self.world, line.arguments[0], line.arguments[1:], line.one("--reason") or "")

    def finding(self, line: _Line) -> Any:
        """Record a finding."""
        severity, text = line.one("--severity") or "", line.one("--text") or ""
        home, found = findings.add_finding(self.world, line.arguments[1], severity=severity, text=text)
        return as_working.finding_data(home, found)

    def abandon(self, line: _Line) -> Any:
        """End a session that is not finished."""
        return as_data.session_item(steps.abandon(self.world, line.arguments[0]))


class _Line:
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

    def one(self, name: str) -> str | None:
        return next(iter(self.every(name)), None)


_VERBS: Mapping[str, Callable[[Inside, _Line], Any]] = {
    "start": Inside.start,
    "step": Inside.step,
    "resume": Inside.resume,
    "claim": Inside.claim,
    "finish": Inside.finish,
    "answer": Inside.answer,
    "finding": Inside.finding,
    "abandon": Inside.abandon,
}
VERBS = frozenset(_VERBS)
"""The commands that an answer may print."""


def _replied(words: tuple[str, ...], answer: Any) -> Reply:
    if isinstance(answer, steps.Answer):
        told: Guidance = answer.guidance
        return Reply(words, 0, as_data.render(told), as_xml.render(told), as_text.render(told))
    if isinstance(answer, Handed):
        return Reply(words, 0, as_working.handed_data(answer), text=as_working.handed_text(answer))
    return Reply(words, 0, answer)
