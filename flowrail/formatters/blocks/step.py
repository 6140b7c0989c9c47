"""The blocks of a step that `flow step` and scripts print: the step, its title, its instructions."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.formatters.block import Block, Part
from flowrail.text.report import Line


def step_output(parts: Sequence[Part], **about: object) -> Block:
    """Return a whole step."""
    return Block("step_output", parts, about)


def step_header(title: str, **about: object) -> Block:
    """Return the title of a step, with what its reader must know of its place."""
    return Block("step_header", title, about)


def current_action(texts: Sequence[str], *, lines: Sequence[str | Line] = ()) -> Block:
    """Return the instructions of a step; *lines* are those for a person."""
    return Block("current_action", texts, lines=lines)
