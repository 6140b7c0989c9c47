"""The server: our tools on the SDK's server for standard input and output.

Calls are answered one after the other, in the main thread, so that the time limit for an author's functions holds.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcp.server import MCPServer

from flowrail import __version__
from flowrail.mcp.command_tools import INSTRUCTIONS, Tools, as_sdk_tools


def build(tools: Tools) -> MCPServer:
    """Return the server of these tools, not running yet."""
    return MCPServer(
        "flowrail",
        version=__version__,
        instructions=INSTRUCTIONS,
        tools=as_sdk_tools(tools),
        log_level="WARNING",
    )


def serve(*, store: str | None, roots: Sequence[str]) -> None:
    """Serve until the host closes our input."""
    tools = Tools(store=store, roots=roots)
    try:
        build(tools).run("stdio")
    finally:
        tools.close()
