"""Which conversation of a host runs a command. Hooks import this for every tool that an agent uses."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.errors import FlowError
from flowrail.storage import files

VARIABLES = ("FLOW_HOST_SESSION", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID")
"""The environment variables that name the conversation of a command, ours first."""
FLEET = "FLOW_FLEET"
"""The environment variable of an agent whose sub-agents are started by the workers of a fleet."""
FLEET_OWNER = "fleet"
"""The conversation that a session of a fleet belongs to until its first run, so that no other agent continues it unasked."""
HELD = "held"
"""The kind of record that counts how often an agent was kept from ending its turn."""
RELEASED = "released"
"""The kind of record that says that the conversation of a session has ended."""
_SHOWN = 8
_ID = r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}\Z"


def host_id(environ: Mapping[str, str]) -> str | None:
    """Return the conversation that a command was called in, by its host's id."""
    return next((conversation for name in VARIABLES if (conversation := usable(environ.get(name)))), None)


def usable(value: object) -> str | None:
    """Return *value* if it can be the id of a conversation."""
    return value if isinstance(value, str) and re.match(_ID, value) else None


def short_id(conversation: str) -> str:
    """Return the id of a conversation as people read it: its beginning."""
    return f"conversation {conversation[:_SHOWN]}"


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
