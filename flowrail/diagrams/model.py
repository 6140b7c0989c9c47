"""A picture of a workflow, without a language."""

from __future__ import annotations

from typing import NamedTuple


class Node(NamedTuple):
    """A step: its id, its title, its phase, and whether its outcome is decided by itself."""

    id: str
    title: str
    phase: str | None
    limit: int | None
    decides: bool
    conditional: bool


class Arrow(NamedTuple):
    """A way on; no target is the end, ``failed`` says which. ``taken`` is how often, where that is known."""

    source: str
    label: str
    target: str | None
    failed: bool
    taken: int | None = None


class Picture(NamedTuple):
    """A workflow to be drawn, in the order of its steps."""

    name: str
    entry: str | None
    nodes: tuple[Node, ...]
    arrows: tuple[Arrow, ...]
