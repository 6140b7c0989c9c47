"""What a hook knows besides its input, and whether the user paused all hooks."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

from flowrail.errors import FlowError
from flowrail.storage import files

_FILE, _LONGEST = "hooks-paused", 100
UNTIL_RESUMED = "until resumed"


class HookEnvironment(NamedTuple):
    """Where and when a hook runs. ``state`` is the user's own state folder."""

    environ: Mapping[str, str]
    home: str
    cwd: str
    state: str
    now: Callable[[], str]


def paused_until(state: str, now: str) -> str | None:
    """Return the moment until which hooks are paused, `UNTIL_RESUMED` without one, or `None` if they are not."""
    path = os.path.join(state, _FILE)
    if not os.path.exists(path):
        return None
    try:
        until = files.read_bounded(path, limit=_LONGEST, what="the pause of hooks").decode().strip()
    except (FlowError, ValueError):
        return None
    return until if until == UNTIL_RESUMED or until > now else None


def pause_hooks(state: str, until: str) -> None:
    """Pause hooks until that moment or `UNTIL_RESUMED`."""
    files.make_private_dir(state)
    files.write_atomic(os.path.join(state, _FILE), f"{until}\n".encode())


def resume_hooks(state: str, now: str) -> bool:
    """Let hooks answer again, and return whether they were paused."""
    was_paused = paused_until(state, now) is not None
    if os.path.exists(os.path.join(state, _FILE)):
        files.remove(os.path.join(state, _FILE))
    return was_paused
