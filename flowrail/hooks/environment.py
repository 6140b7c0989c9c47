"""What a hook knows besides its input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple


class HookEnvironment(NamedTuple):
    """Where and when a hook runs. ``state`` is the user's own state folder."""

    environ: Mapping[str, str]
    home: str
    cwd: str
    state: str
    now: Callable[[], str]
