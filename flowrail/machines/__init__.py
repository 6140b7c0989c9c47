"""Workflows, what they compile to, and how one runs.

The public names of this room are found here too, each imported when it is first asked for; `flowrail` has
those of every room.
"""

from __future__ import annotations

from typing import Any

import flowrail

__all__ = [name for name in flowrail.__all__ if flowrail.room_of(name).startswith("machines.")]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(flowrail, name)


def __dir__() -> list[str]:
    return __all__
