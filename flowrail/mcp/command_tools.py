"""The tools of the server, made from operations, and the conversion of commands to calls of them."""

from __future__ import annotations

import inspect
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from keyword import iskeyword
from typing import Annotated, Any, Literal

from mcp.server.mcpserver.tools import Tool
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import Field

from flowrail.command import Command, Hint
from flowrail.command_table import COMMANDS, READS
from flowrail.errors import FlowError
from flowrail.formatters.json_output import as_data
from flowrail.hosts.conversation import host_id
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Operation, Parameter, check_not_empty, load_operation
from flowrail.operations.steps.session_ownership import release
from flowrail.text.report import plain_text
from flowrail.text.safe_text import error_data, visible

INSTRUCTIONS = """\
Procedures as state machines. `list` lists the skills. `step` with a skill starts one and shows its first step. Do what
the step says, then report its outcome with one of the calls that the answer shows, and continue until no call is shown.
A call is written as the tool's name and its arguments: step {"session": "…", "outcome": "ok", "expect": 0}. If values
are asked for, `-s NAME=VALUE` means the key NAME in `facts`. A command such as `flow handoff send` in a text is the tool
`handoff_send`. Sessions are files: nothing is lost when your context is. `sessions` lists the open ones.
"""
COMMAND_TOOLS = {
    f"{name} {inner}" if entry.commands else name: found
    for name, entry in COMMANDS.items()
    for inner, found in (entry.commands or {name: entry}).items()
    if found.tool
}
"""The commands that are tools."""
WAIT = 5.0
"""Seconds that a call waits for a session that another process holds. Other calls wait meanwhile."""


@dataclass(frozen=True)
class ToolCall:
    """A tool and its arguments."""

    tool: str
    arguments: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False, default=list)}"


class Tools:
    """The tools for one store. Each call looks up folder, time and user again.

    A connection to the server is a conversation, unless the host names one in the environment.
    """

    def __init__(self, *, store: str | None, roots: Sequence[str]) -> None:
        self._store = store
        self._roots = roots
        self._conversation = host_id(os.environ) or f"mcp-{os.urandom(4).hex()}"

    def environment(self, tell: Callable[[str], object] = lambda _line: None) -> Environment:
        """Return the environment of a call."""
        return Environment(
            store=self._store, roots=self._roots, conversation=self._conversation, wait=WAIT, tell=tell
        )

    def close(self) -> None:
        """Release the sessions of this connection, which has ended."""
        environment = self.environment()
        store = environment.store
        release(store, store.ids(), self._conversation, at=environment.now, by=environment.by)

    def show(self, command: Command) -> str:
        """Return *command* as a call, or as a shell line if no tool does it."""
        return str(call_of(command, self.environment().store.address) or command)

    def call(self, operation: Operation[..., Any], arguments: Mapping[str, Any]) -> CallToolResult:
        """Call an operation; an error is an answer, too."""
        notes: list[str] = []
        try:
            environment = self.environment(notes.append)
            result = operation(environment, **_given(operation, arguments))
            text = result.xml(self.show) if hasattr(result, "xml") else plain_text(result.report())
            text = "\n".join([text, *(f"note: {note}" for note in notes)])
            data, is_error = with_calls(as_data(result), environment.store.address), False
        except FlowError as error:
            hint = str(error.hint)
            if isinstance(error.hint, Hint):
                with suppress(FlowError):  # without a current folder there is no store
                    hint = error.hint.render(self.show)
            text, is_error = f"{error.message} [{error.code}]\n{hint}", True
            data = with_calls({"error": {**error_data(error), "hint": hint}}, None)
        content = TextContent(type="text", text=visible(text))
        return CallToolResult(content=[content], structured_content=data, is_error=is_error)


def _given(operation: Operation[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as the operation takes them. A client may send `null` for what it leaves out."""
    given: dict[str, Any] = {}
    for parameter in operation.parameters:
        value = arguments.get(_argument_name(parameter))
        check_not_empty(parameter, value)
        if parameter.kind is Mapping:
            value = {name: item for name, item in (value or {}).items() if item is not None}
        elif parameter.is_repeated and value is not None:
            value = tuple(value)
        if value is not None:
            given[parameter.variable] = value
    return given


def as_sdk_tools(tools: Tools) -> list[Tool]:
    """Return the tools for the SDK's server, with schemas made from the operations' parameters."""
    return [
        _as_sdk_tool(tools, _operation(name), reads=entry.tool == READS)
        for name, entry in COMMAND_TOOLS.items()
    ]


@cache
def _operation(name: str) -> Operation[..., Any]:
    return load_operation(COMMAND_TOOLS[name].module, name.rpartition(" ")[2])


def _as_sdk_tool(tools: Tools, operation: Operation[..., Any], *, reads: bool) -> Tool:
    async def call(**arguments: Any) -> CallToolResult:
        return tools.call(operation, arguments)

    declared = [
        inspect.Parameter(
            _argument_name(parameter),
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_annotation(parameter),
            default=inspect.Parameter.empty
            if parameter.is_required and parameter.kind is not Mapping
            else None,
        )
        for parameter in operation.parameters
    ]
    call.__signature__ = inspect.Signature(declared)  # type: ignore[attr-defined]
    call.__annotations__ = {parameter.name: parameter.annotation for parameter in declared}
    tool = Tool.from_function(
        call,
        name=_tool_name(operation.name),
        description=" ".join(operation.help.split()),
        annotations=ToolAnnotations(read_only_hint=reads, destructive_hint=False, open_world_hint=False),
        structured_output=False,
    )
    model = tool.fn_metadata.arg_model
    model.model_config["extra"] = "forbid"  # a misspelt argument must not be ignored
    model.model_rebuild(force=True)
    return tool.model_copy(update={"parameters": model.model_json_schema(by_alias=True)})


def _annotation(parameter: Parameter) -> Any:
    kind: Any = Literal[parameter.choices] if parameter.choices else parameter.kind
    if parameter.kind is Mapping:
        kind = dict[str, Any]
    elif parameter.is_repeated:
        kind = list[kind]
    is_needed = parameter.is_required and parameter.kind is not Mapping
    return Annotated[kind if is_needed else kind | None, Field(description=parameter.help.text)]


def _argument_name(parameter: Parameter) -> str:
    """Return the name of an argument; one that holds several values by name has a plural."""
    if iskeyword(parameter.name):
        return parameter.variable
    return f"{parameter.name}s" if parameter.kind is Mapping else parameter.name


def _tool_name(name: str) -> str:
    return name.replace(" ", "_")


def call_of(command: Command, store: str | None) -> ToolCall | None:
    """Return the call that is equivalent to *command*; `None` if there is no such tool, or not for this *store*."""
    if command.verb not in COMMAND_TOOLS or command.store not in {None, store}:
        return None
    operation = _operation(command.verb)
    given = operation.arguments_of(command)
    arguments = {
        _argument_name(parameter): value
        for parameter in operation.parameters
        if not parameter.help.is_document
        and (value := given.get(parameter.variable)) is not None
        and value is not False
        and value != {}
    }
    return ToolCall(_tool_name(operation.name), arguments)


def with_calls(value: Any, store: str | None) -> Any:
    """Return plain data with its commands as calls, or as shell lines if no tool does it, and every character visible."""
    if isinstance(value, Command):
        call = call_of(value, store)
        return with_calls(vars(call) if call is not None else str(value), store)
    if isinstance(value, (list, tuple)):
        return [with_calls(item, store) for item in value]
    if isinstance(value, Mapping):
        return {visible(key): with_calls(item, store) for key, item in value.items()}
    return value if value is None or isinstance(value, (bool, int, float)) else visible(str(value))
