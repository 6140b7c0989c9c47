"""A client of the MCP server, and simulated agents that call its tools."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from support.bundled_evidence import provide_evidence
from support.sandbox import ENTRY, Ran
from support.simulated_agents import Habit, Team

from flowrail.mcp.command_tools import Tools as OurTools
from flowrail.mcp.tool_server import build


class Tools:
    """A running server. A call of a tool returns text, data, and whether it was refused."""

    def __init__(self, portal: Any, client: Client) -> None:
        self._portal = portal
        self.client = client

    def __call__(self, tool: str, **arguments: Any) -> tuple[str, Any, bool]:
        if tool == "step":
            session = ["--session", arguments["session"]] if arguments.get("session") else []
            facts = [
                word
                for fact in (arguments.get("facts") or {}).items()
                for word in ("-s", "=".join(map(str, fact)))
            ]
            outcome = arguments.get("outcome") or "-"
            provide_evidence(["step", str(arguments.get("skill", "")), outcome, *session, *facts])
        result = self._portal.call(self.client.call_tool, tool, arguments)
        (content,) = result.content
        return content.text, result.structured_content, result.is_error

    def told(self, tool: str, **arguments: Any) -> Any:
        """Call a tool that is not refused and return its data."""
        text, data, is_error = self(tool, **arguments)
        assert not is_error, text
        return data

    def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool that is refused and return the error."""
        text, data, is_error = self(tool, **arguments)
        assert is_error, text
        error: dict[str, Any] = data["error"]
        assert error["code"] in text
        return error

    def wrong(self, tool: str, **arguments: Any) -> str:
        """Call a tool with wrong arguments and return its answer."""
        text, _, is_error = self(tool, **arguments)
        assert is_error, text
        return str(text)

    def ask(self, method: str, *words: Any) -> Any:
        """Call another method of the client."""
        return self._portal.call(getattr(self.client, method), *words)


@contextmanager
def served(*options: str, before: str = "", mode: str = "auto") -> Iterator[Tools]:
    """Run a server as a process. *before* is Python that runs first.

    *mode* is how client and server find the version of the protocol.
    """
    server = StdioServerParameters(
        command=sys.executable,
        args=["-c", f"{before}\n{ENTRY}", "mcp", *options],
        env=dict(os.environ),
        cwd=os.getcwd(),
    )
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, mode=mode)) as client,
    ):
        yield Tools(portal, client)


@contextmanager
def inside() -> Iterator[Tools]:
    """Run a server in this process, which starts faster."""
    server = build(OurTools(store=None, roots=()))
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:
        yield Tools(portal, client)


class ToolTeam(Team):
    """Agents with tools instead of a shell. They make the printed calls."""

    def __init__(self, tools: Tools, habit: Habit | None = None) -> None:
        super().__init__(habit or Habit())
        self.tools = tools

    def _ran(self, line: str, *, refused: bool = False) -> Ran:
        self.commands += 1
        tool, _, arguments = line.partition(" ")
        assert tool != "flow", f"a command is printed instead of a call: {line}"
        text, data, is_error = self.tools(tool, **json.loads(arguments))
        assert refused or not is_error, (line, text)
        return Ran(2 if is_error and data["error"]["code"] else 0, text, "")

    def to_show(self, session: str) -> str:
        return f"step {json.dumps({'session': session})}"

    def with_facts(self, line: str, values: Mapping[str, str]) -> str:
        tool, _, arguments = line.partition(" ")
        given = json.loads(arguments)
        facts = {**given.get("facts", {}), **values}
        return f"{tool} {json.dumps({**given, **({'facts': facts} if facts else {})})}"

    def with_finding(self, line: str, severity: str) -> str:
        tool, _, arguments = line.partition(" ")
        more = {"severity": severity, "place": "src/app.py:3", "text": "it is wrong"}
        return f"{tool} {json.dumps({**json.loads(arguments), **more})}"


def as_command(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return a call as a line for `Team.run`."""
    return f"{tool} {json.dumps(dict(arguments))}"
