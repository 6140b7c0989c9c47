"""What can be read without calling a tool: open sessions, and the bundled skills as beginnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from flowrail.errors import UsageError
from flowrail.mcp.calls import Call
from flowrail.mcp.forgetting import forgetting
from flowrail.mcp.verbs import Place, status, step
from flowrail.operations.sessions.session_list import summaries
from flowrail.skills import summary
from flowrail.text.suggestions import did_you_mean

SCHEME = "flow://sessions/"


class Session(NamedTuple):
    """An open session, as something to read."""

    id: str
    about: str


class Param(NamedTuple):
    """A parameter of a skill."""

    name: str
    about: str
    required: bool


class Skill(NamedTuple):
    """A bundled skill, as a beginning."""

    name: str
    about: str
    params: tuple[Param, ...]


def sessions(place: Place) -> list[Session]:
    """Return the open sessions, the one that moved last first."""
    found = [each.kept.session for each in summaries(place.world().store) if each.kept]
    return [
        Session(each.id, f"{each.skill} at step {each.step}, {each.status}, last moved {each.moved_at}")
        for each in found
    ]


def read(place: Place, uri: str) -> str:
    """Return the current step of the session that *uri* names, or the list of sessions."""
    if uri == SCHEME.rstrip("/"):
        return status(place, {}).text
    if not uri.startswith(SCHEME):
        raise UsageError(f"there is nothing to read at `{uri[:200]}`", hint=f"read {SCHEME}ID")
    with forgetting(lambda: (each.path for each in place.world().roots)):
        return step(place, {"session": uri.removeprefix(SCHEME)}).text


def skills() -> list[Skill]:
    """Return the bundled skills."""
    return [
        Skill(
            each["name"],
            each["description"],
            tuple(
                Param(param["name"], param.get("description") or "", bool(param.get("required")))
                for param in each["params"]
            ),
        )
        for each in summary.items(())
    ]


def beginning(name: str, params: Mapping[str, Any]) -> str:
    """Return what sets an agent to work on a bundled skill."""
    known = {each.name: each for each in skills()}
    if name not in known:
        raise UsageError(
            f"there is no bundled skill `{name[:80]}`", hint=did_you_mean(name[:80], known, "see the prompts")
        )
    call = Call("start", {"skill": name, **({"params": dict(params)} if params else {})})
    return (
        f"Work through the procedure `{name}` to its end.\n\n{known[name].about}\n\n"
        f"It begins with the tool call\n\n    {call}\n\n"
        "Each answer tells one step and the calls that go on from it."
    )
