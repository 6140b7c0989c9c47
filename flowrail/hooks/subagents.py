"""Which child session a host's sub-agent works on.

A host passes the id of the sub-agent that calls a tool to its hooks, but only the conversation to commands.
`post-tool-use` therefore notes which child session a sub-agent's command names, in the user's own state folder.
"""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from typing import NamedTuple

from flowrail.hosts.conversation import Notes

CLAIMS = Notes("agents", 10_000, 24 * 3600)
"""The child session of each sub-agent."""
_SESSION = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}(?:\.\d+\.\d+(?:-\d+)?)*\Z")


class Claim(NamedTuple):
    """The child session of a sub-agent.

    ``store`` is a folder, and empty for the database that the environment or the user's configuration names.
    """

    store: str
    session: str


class NamedWork(NamedTuple):
    """What a command line names: a session, and perhaps a store."""

    session: str
    store: str | None


def named_work(command: str) -> Iterator[NamedWork]:
    """Yield the sessions that a shell command passes to `flow`, in order."""
    try:
        words = shlex.split(command)
    except ValueError:
        words = command.split()
    if not any(word in {"flow", "flowrail"} for word in words):
        return
    stores = (after for word, after in itertools.pairwise(words) if word == "--store")
    store = next(stores, None)
    for word in words:
        if _SESSION.match(word):
            yield NamedWork(word, store)


def claim_of(state: str, agent: str) -> Claim | None:
    """Return the claim of a sub-agent, if it was noted."""
    try:
        return Claim(**CLAIMS.read(state, agent))
    except TypeError:
        return None


def note_claim(state: str, agent: str, claim: Claim) -> None:
    """Note the claim of a sub-agent."""
    CLAIMS.write(state, agent, claim._asdict())
