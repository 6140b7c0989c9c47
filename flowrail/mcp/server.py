"""The door to the SDK of the Model Context Protocol: tools, resources and prompts on standard input and output.

Calls are answered one after the other. What goes wrong in a tool is its answer, with code and hint; the server
lives on.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, BinaryIO, cast

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage

from flowrail import __version__
from flowrail.cli.output import error_data
from flowrail.errors import FlowError
from flowrail.mcp import resources
from flowrail.mcp.calls import hint_with_calls
from flowrail.mcp.lines import next_line, standard_input
from flowrail.mcp.tools import (
    INSTRUCTIONS,
    TOOLS,
    FaultError,
    call,
)
from flowrail.mcp.verbs import Place, Told
from flowrail.text.safe_text import bounded, visible

Context = ServerRequestContext[Any]
_TEXT = "text/plain"


def serve(place: Place) -> None:
    """Serve until the host closes our input."""
    anyio.run(_serve, place)


async def _serve(place: Place) -> None:
    server = made(place)
    with standard_input() as file:
        lines = _Lines(file)
        async with stdio_server(cast("anyio.AsyncFile[str]", lines)) as (read, write):
            lines.refuse = lambda refusal: write.send(SessionMessage(refusal))
            await server.run(read, write, server.create_initialization_options())


class _Lines:
    """What the SDK reads line by line; ``refuse`` answers instead of it what is not handed on."""

    refuse: Callable[[types.JSONRPCError], Awaitable[None]]

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def __aiter__(self) -> _Lines:
        return self

    async def __anext__(self) -> str:
        while line := await anyio.to_thread.run_sync(next_line, self._file):
            if isinstance(line, str):
                return line
            data = {"error": error_data(line.error)}
            code = types.INVALID_REQUEST if line.is_json else types.PARSE_ERROR
            error = types.ErrorData(code=code, message=line.error.message, data=data)
            await self.refuse(types.JSONRPCError(jsonrpc="2.0", id=line.id, error=error))
        raise StopAsyncIteration


def made(place: Place) -> Server[Any]:
    """Return the server, not yet at work."""

    async def list_tools(
        _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name,
                    description=tool.about,
                    input_schema=tool.schema,
                    annotations=types.ToolAnnotations(
                        read_only_hint=tool.reads, destructive_hint=False, open_world_hint=False
                    ),
                )
                for name, tool in TOOLS.items()
            ]
        )

    async def call_tool(_ctx: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        return _answer(
            lambda: call(place, params.name, params.arguments or {}), lambda: place.world().store.path
        )

    async def list_resources(
        _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(
            resources=[
                types.Resource(
                    name=each.id,
                    uri=f"{resources.SCHEME}{each.id}",
                    description=visible(each.about),
                    mime_type=_TEXT,
                )
                for each in _or_refused(lambda: resources.sessions(place))
            ]
        )

    async def list_templates(
        _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            name="session",
            uri_template=f"{resources.SCHEME}{{id}}",
            description="A session's current step",
            mime_type=_TEXT,
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        _ctx: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = _or_refused(lambda: resources.read(place, uri))
        contents = types.TextResourceContents(uri=uri, mime_type=_TEXT, text=_plain(text))
        return types.ReadResourceResult(contents=[contents])

    async def list_prompts(
        _ctx: Context, _params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=each.name,
                    description=each.about,
                    arguments=[
                        types.PromptArgument(
                            name=param.name, description=param.about, required=param.required
                        )
                        for param in each.params
                    ],
                )
                for each in _or_refused(resources.skills)
            ]
        )

    async def get_prompt(_ctx: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = _or_refused(lambda: resources.beginning(params.name, params.arguments or {}))
        message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=_plain(text)))
        return types.GetPromptResult(messages=[message])

    return Server(
        "flowrail",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _answer(tool: Callable[[], Told], store: Callable[[], str]) -> types.CallToolResult:
    try:
        told = tool()
        return _result(told.text, told.data)
    except FlowError as error:
        hint = str(error.hint)
        with suppress(FlowError):  # without a current folder there is no store
            hint = hint_with_calls(error.hint, store())
        hint = visible(hint)
        text = f"{visible(error.message)} [{error.code}]\n{hint}"
        return _result(text, {"error": {**error_data(error), "hint": hint}}, is_error=True)
    except Exception as error:  # noqa: BLE001 - one call that fails must not end the others
        fault = FaultError(
            f"{type(error).__name__}: {error}", hint="this is a mistake in flowrail: please report it"
        )
        text = f"{visible(bounded(fault.message))} [{fault.code}]\n{fault.hint}"
        return _result(text, {"error": error_data(fault)}, is_error=True)


def _result(text: str, data: Any, *, is_error: bool = False) -> types.CallToolResult:
    plain = _visible(json.loads(_plain(json.dumps(data, ensure_ascii=False, default=str))))
    content = [types.TextContent(type="text", text=_plain(text))]
    return types.CallToolResult(content=list(content), structured_content=plain, is_error=is_error)


def _visible(value: Any) -> Any:
    """Return plain data in which every text shows what it holds.

    A host hands it to an agent as it stands, not as the escapes that our JSON has on a command line.
    """
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _visible(item) for key, item in value.items()}
    return [_visible(item) for item in value] if isinstance(value, list) else value


def _or_refused(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except FlowError as error:
        raise MCPError(types.INVALID_PARAMS, visible(error.message), {"error": error_data(error)}) from None


def _plain(text: str) -> str:
    """Return *text* as any encoder takes it."""
    return text.encode("utf-8", "backslashreplace").decode()
