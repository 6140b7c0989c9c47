"""A call of a hook: what the host says, and where and when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from flowrail.hosts.protocol import HookInput


class HookEnvironment(NamedTuple):
    """Where and when a hook runs. ``state`` is the user's own state folder."""

    environ: Mapping[str, str]
    home: str
    cwd: str
    state: str
    now: Callable[[], str]


class Hook(NamedTuple):
    """A call of a hook: what the host says, and the environment."""

    input: HookInput
    environ: Mapping[str, str]
    home: str
    cwd: str
    state: str
    now: Callable[[], str]
