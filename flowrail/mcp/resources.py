"""The resources and prompts of the server: open sessions, and bundled skills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from mcp.server.mcpserver.exceptions import ResourceError
from mcp.server.mcpserver.prompts.base import Prompt, PromptArgument

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.mcp.tools import Tools, call_of
from flowrail.skills import summary
from flowrail.text.safe_text import visible


class Readable(NamedTuple):
    """A resource, or a template of resources."""

    uri: str
    name: str
    about: str
    read: Callable[..., Any]


def resources(tools: Tools) -> list[Readable]:
    """Return the list of open sessions, and the template for the current step of one."""

    async def sessions() -> str:
        return _read(lambda: tools.status().text)

    async def session(session: str) -> str:
        return _read(lambda: tools.step(session=session).text)

    return [
        Readable("flow://sessions", "sessions", "The open sessions", sessions),
        Readable("flow://sessions/{session}", "session", "A session's current step", session),
    ]


def prompts() -> list[Prompt]:
    """Return the bundled skills, each as a prompt that starts it."""
    return [_prompt(skill) for skill in summary.items(())]


def _prompt(skill: dict[str, Any]) -> Prompt:
    name, about = str(skill["name"]), visible(str(skill["description"]))
    arguments = [
        PromptArgument(
            name=param["name"],
            description=visible(param.get("description") or ""),
            required=bool(param.get("required")),
        )
        for param in skill["params"]
    ]

    async def text(**params: str) -> str:
        call = call_of(Command("start", name, params=params), "")
        return visible(
            f"Work through the skill `{name}` to its end.\n\n{about}\n\n"
            f"Start with the tool call\n\n    {call}\n\n"
            "Each answer has one step, and the calls for what comes next."
        )

    return Prompt(name=name, title=None, description=about, arguments=arguments, fn=text, context_kwarg=None)


def _read(read: Callable[[], str]) -> str:
    try:
        return visible(read())
    except FlowError as error:
        raise ResourceError(visible(f"{error.message} [{error.code}]")) from None
