"""Which child session a host's sub-agent works on.

A host passes the id of the sub-agent that calls a tool to its hooks, but only the conversation to commands.
`post-tool-use` therefore notes which child session a sub-agent's command names, in the user's own state folder.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shlex
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.errors import FlowError
from flowrail.storage import files


class Notes(NamedTuple):
    """Small JSON files in a folder of the user's state folder, one for each name, kept for some time."""

    folder: str
    most_bytes: int
    kept_seconds: int

    def read(self, state: str, name: str) -> Any:
        """Return the value of a note, or `None` if it is missing or cannot be read."""
        try:
            return json.loads(
                files.read_bounded(self._path(state, name), limit=self.most_bytes, what="the note")
            )
        except (FlowError, ValueError):
            return None

    def write(self, state: str, name: str, value: object) -> None:
        """Write a note, if that is possible."""
        with suppress(FlowError, OSError):
            files.make_private_dir(os.path.join(state, self.folder))
            files.write_atomic(self._path(state, name), json.dumps(value).encode(), durable=False)

    def forget_old(self, state: str) -> None:
        """Delete the notes that were not written for too long."""
        with suppress(OSError):
            for entry in os.scandir(os.path.join(state, self.folder)):
                if entry.stat().st_mtime < time.time() - self.kept_seconds:
                    os.unlink(entry.path)

    def _path(self, state: str, name: str) -> str:
        return os.path.join(state, self.folder, f"{name}.json")


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
