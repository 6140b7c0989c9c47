"""What a step tells, in pieces: text, and the blocks that its fences stand for."""

from __future__ import annotations

from flowrail.machines.guidance import Guidance
from flowrail.machines.markup import Markup

FENCE = "flow:"


def pieces(guidance: Guidance) -> list[str | Markup]:
    """Return what is told in order; a text without a fence is one piece and is not looked into."""
    found: list[str | Markup] = []
    for action in guidance.actions:
        if found:
            found.append("")
        if isinstance(action, Markup) or FENCE not in action:
            found.append(action)
            continue
        from flowrail.formatters.fences import with_blocks

        found += with_blocks(action, guidance.resources.__getitem__)
    return found
