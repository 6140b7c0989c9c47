"""Which child session a host's sub-agent works on.

A host passes the id of the sub-agent that calls a tool to its hooks, but only the conversation to commands.
`post-tool-use` therefore notes which child session a sub-agent's command names, in the user's own state folder.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from flowrail.storage.user_folders import read_state, write_state

_FOLDER = "agents"
_KEPT_SECONDS = 24 * 3600
SESSION_ID = r"[a-z0-9]+(?:-[a-z0-9]+)*-[a-z0-9]{6}(?:\.\d+\.\d+(?:-\d+)?)*\Z"


class NotedChild:
    """The child session of a sub-agent."""

    def __init__(self, session: str, store: str) -> None:
        self.session = session
        self.store = store
        """The store that its command named; empty if it named none."""


def noted_child(state: str, agent: str) -> NotedChild | None:
    """Return the child session of a sub-agent, if it was noted."""
    with suppress(OSError, ValueError, TypeError, RecursionError):
        return NotedChild(**read_state(_path(state, agent)))
    return None


def note_child(state: str, agent: str, child: NotedChild) -> None:
    """Note the child session of a sub-agent, if that is possible."""
    write_state(_path(state, agent), vars(child))


def forget_old_children(state: str) -> None:
    """Delete what was noted more than a day ago."""
    with suppress(OSError):
        for entry in os.scandir(os.path.join(state, _FOLDER)):
            if entry.stat().st_mtime < time.time() - _KEPT_SECONDS:
                os.unlink(entry.path)


def _path(state: str, agent: str) -> str:
    return os.path.join(state, _FOLDER, f"{agent}.json")
