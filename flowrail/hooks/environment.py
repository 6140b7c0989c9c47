"""A call of a hook: what the host says, and where and when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from flowrail.hosts.protocol import HookInput


class Hook(NamedTuple):
    """A call of a hook. ``state`` is the user's own state folder."""

    environ: Mapping[str, str]
    home: str
    cwd: str
    state: str
    now: Callable[[], str]
    input: HookInput = HookInput()
