"""Run the commands of a walk in this process, on a store of their own.

A stage runs a `Command` that was printed and returns its answer. A walk therefore goes through
the same commands as an agent. The commands in an answer's data are `Command` values too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from flowrail.command import Command
from flowrail.command_table import entry_of
from flowrail.errors import FlowError
from flowrail.formatters.json_output import as_data
from flowrail.machines.workflow import Workflow
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Operation, load_operation
from flowrail.session_status import COMPLETED

NAMED = "named by path"
"""The origin of a folder of skills that is searched because the user named a path in it."""


@dataclass(frozen=True)
class Reply:
    """The answer of a command."""

    status: int
    """Its exit status."""
    data: Mapping[str, Any]
    """Its JSON, with commands as values."""
    result: Any = None
    """The result that the data is made from."""

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
        self._operations: dict[str, Operation[..., Any]] = {}

    def run(self, command: Command) -> Reply:
        """Run one command."""
        try:
            result = self._answer(command)
            return Reply(0, as_data(result), result)
        except FlowError as error:
            body = {"code": error.code, "message": error.message, "hint": str(error.hint)}
            return Reply(error.exit_status, {"error": body})

    def workflow(self, address: str) -> Workflow:
        """Return a workflow, loaded once."""
        if address not in self._workflows:
            self._workflows[address] = self.environment.loader.open_skill(address).workflow
        return self._workflows[address]

    def complete(self, session_id: str) -> None:
        """Complete an agent's session as if all its steps had been walked."""
        with self.environment.store.change(session_id) as change:
            ended = replace(change.kept.session, status=COMPLETED, step=None, dispatches=(), questions=())
            change.commit(ended, kind="move", at=self.environment.now, by=self.environment.by)

    def _answer(self, command: Command) -> Any:
        if command.verb not in self._operations:
            name = command.verb.rpartition(" ")[2]
            self._operations[command.verb] = load_operation(entry_of(command.verb).module, name)
        operation = self._operations[command.verb]
        return operation(self.environment, **operation.arguments_of(command))
