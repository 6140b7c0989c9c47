"""Run the commands of a walk in this process, on a store of their own.

A stage runs a `Command` that was printed and returns its answer. A walk therefore goes through
the same commands as an agent. The commands in an answer's data are `Command` values too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from flowrail.command import Command, value_text
from flowrail.errors import FlowError
from flowrail.formatters.data import as_data
from flowrail.machines.session import AT_TERMINAL, COMPLETED
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.sessions.abandon import abandon_session
from flowrail.operations.steps.current_step import look, report, resume
from flowrail.operations.steps.review_findings import add_finding
from flowrail.operations.steps.session_start import begin
from flowrail.operations.steps.shown_step import ShownStep
from flowrail.operations.steps.user_questions import answer_questions
from flowrail.operations.steps.workflow_source import open_skill

NAMED = "named by path"
"""The origin of a folder of skills that is searched because the user named a path in it."""


class Reply(NamedTuple):
    """The answer of a command: exit status, JSON, and what an agent reads of a step or of an assignment."""

    status: int
    data: Mapping[str, Any]
    printed: str = ""

    @property
    def session(self) -> str:
        """The id of the session in the answer."""
        return str(self.data["session"])

    @property
    def problem(self) -> str:
        """The problem of the command, on one line; empty if it succeeded."""
        error = self.data.get("error")
        if self.status == 0 and not error:
            return ""
        detail = f": {error['message']} [{error['code']}]" if error else ""
        return f"exit status {self.status}{detail}"


class Stage:
    """Runs commands in this process, and knows their workflows."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self._workflows: dict[str, Workflow] = {}

    def run(self, command: Command) -> Reply:
        """Run one command."""
        try:
            return _reply(self._answer(command))
        except FlowError as error:
            body = {"code": error.code, "message": error.message, "hint": str(error.hint)}
            return Reply(error.exit_status, {"error": body})

    def workflow(self, address: str) -> Workflow:
        """Return a workflow, loaded once."""
        if address not in self._workflows:
            self._workflows[address] = open_skill(address, self.environment.loader).workflow
        return self._workflows[address]

    def complete(self, session_id: str) -> None:
        """Complete an agent's session as if all its steps had been walked."""
        with self.environment.store.change(session_id) as change:
            ended = replace(change.kept.session, status=COMPLETED, step=None, dispatches=(), questions=())
            change.commit(ended, kind="move", at=self.environment.now, by=self.environment.by)

    def assume_evidence(self, *, passed: bool) -> None:
        """Treat the checks of steps as passed, or as not passed, from now on."""
        self.environment = self.environment.replaced(lacks_evidence=not passed)

    def _answer(self, command: Command) -> object:
        environment, arguments = self.environment, command.arguments
        match command.verb:
            case "step" if command.options.get("new"):
                return begin(environment, arguments[0], _texts(command, "params"))
            case "step" if not arguments:
                return look(environment, _text(command, "session"))
            case "step":
                return report(
                    environment,
                    *arguments,
                    facts=_texts(command, "facts"),
                    session_id=_text(command, "session"),
                    expect=int(_text(command, "expect")),
                )
            case "resume":
                return resume(environment, arguments[0])
            case "answer":
                answers = {name: [label] for name, label in _texts(command, "answers").items()}
                reason = _text(command, "reason")
                return answer_questions(environment, arguments[0], answers, reason, way=AT_TERMINAL)
            case "finding add":
                severity, text = _text(command, "severity"), _text(command, "text")
                return as_data(add_finding(environment, arguments[0], severity=severity, text=text))
            case "session abandon":
                return {"status": abandon_session(environment, arguments[0]).session.status}
            case _:
                raise ValueError(f"a walk cannot run `{command}`")


def _texts(command: Command, option: str) -> dict[str, str]:
    """Return the names and values of an option, as they are typed."""
    values = command.options.get(option)
    return {name: value_text(value) for name, value in values.items()} if isinstance(values, Mapping) else {}


def _text(command: Command, option: str) -> str:
    return str(command.options.get(option, ""))


def _reply(answer: Any) -> Reply:
    if isinstance(answer, ShownStep):
        return Reply(0, as_data(answer), answer.xml())
    return Reply(0, answer)
