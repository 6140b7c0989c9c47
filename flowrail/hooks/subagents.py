"""Which piece of work a host's sub-agent has claimed.

A host passes the id of the sub-agent that calls a tool to its hooks, but only the conversation to commands.
`post-tool-use` therefore notes which session or dispatch a sub-agent has claimed, in the user's own state folder.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from flowrail.hosts.conversation import Notes

CLAIMS = Notes("agents", 10_000, 24 * 3600)
"""The claim of each sub-agent."""
_SESSION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}\Z")
_DISPATCH = re.compile(r"d\d{1,9}-\d{1,9}\Z")


class Claim(NamedTuple):
    """The work of a sub-agent: a child session, or a dispatch of a session if it works from a prompt.

    ``store`` is a folder, and empty for the database that the environment or the user's configuration names.
    ``held`` counts how often the agent was kept from ending with that dispatch open.
    """

    store: str
    session: str
    dispatch: str | None = None
    held: int = 0


class NamedWork(NamedTuple):
    """What a command line names: a session, perhaps one of its dispatches, and perhaps a store."""

    session: str
    dispatch: str | None
    store: str | None


def named_work(command: str) -> Iterator[NamedWork]:
    """Yield the sessions and dispatches that a shell command passes to `flow`, in order."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    if not any(word in {"flow", "flowrail"} for word in words):
        return
    stores = (after for word, after in itertools.pairwise(words) if word == "--store")
    store = next(stores, None)
    for word, after in zip(words, [*words[1:], ""], strict=True):
        if _SESSION.match(word):
            yield NamedWork(word, after if _DISPATCH.match(after) else None, store)


def claim_of(state: str, agent: str) -> Claim | None:
    """Return the claim of a sub-agent, if it was noted."""
    try:
        return Claim(**CLAIMS.read(state, agent))
    except TypeError:
        return None


def note_claim(state: str, agent: str, claim: Claim) -> None:
    """Note the claim of a sub-agent."""
    CLAIMS.write(state, agent, claim._asdict())


def claimed_child(parent: Mapping[str, object], dispatch_id: str) -> str | None:
    """Return the child session of a claimed dispatch in a snapshot, empty if it works from a prompt.

    `None` means that the dispatch is not claimed.
    """
    dispatches = parent.get("dispatches")
    for dispatch in dispatches if isinstance(dispatches, list) else ():
        if isinstance(dispatch, dict) and dispatch.get("id") == dispatch_id:
            return str(dispatch.get("child") or "") if dispatch.get("status") == "claimed" else None
    return None
