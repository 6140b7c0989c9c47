"""What a step tells, in pieces: text, and the blocks that its fences stand for."""

from __future__ import annotations

from flowrail.machines.guidance import Guidance
from flowrail.machines.markup import Markup

FENCE = "flow:"
FINDING = "--severity MUST|SHOULD|COULD --place PLACE --text TEXT"
"""What belongs to the command that records a finding; a long text goes into a file, `--file FILE`."""

MANY = 4
FACTS_FILE = "or append --facts FILE instead, a file that holds them as one JSON object"
"""Said where so many values are asked for that a command line gets unwieldy."""


def pieces(guidance: Guidance) -> list[str | Markup]:
    """Return what is told in order: the step's own text, and what stands around it."""
    before, after = around(guidance)
    return [*before, *own_pieces(guidance), *after]


def around(guidance: Guidance) -> tuple[list[str | Markup], list[str | Markup]]:
    """Return what stands before a step's text and after it: its review loop, how to ask the user."""
    before: list[str | Markup] = []
    after: list[str | Markup] = []
    if guidance.loop is not None:
        from flowrail.formatters.loops import loop_pieces

        before, after = loop_pieces(guidance.loop)
    if _gives_work(guidance):
        from flowrail.machines.relay import QUESTION_RELAY_HANDLER

        after.append(QUESTION_RELAY_HANDLER)
    if _is_new_to_it(guidance):
        from flowrail.formatters.elements import element
        from flowrail.machines.relay import SUB_AGENT_QUESTION_FORMAT

        after += [SUB_AGENT_QUESTION_FORMAT, element("ask_command", str(guidance.ask_command))]
    return before, after


def _gives_work(guidance: Guidance) -> bool:
    """Return whether agents are still to come back, and may come back with questions."""
    return guidance.join is not None and bool(guidance.join.open)


def _is_new_to_it(guidance: Guidance) -> bool:
    """Return whether this is what an agent that works for another reads first."""
    is_first = guidance.revision == 0 or guidance.resumed
    return bool(guidance.ask_command) and guidance.step is not None and is_first


def own_pieces(guidance: Guidance) -> list[str | Markup]:
    """Return what the step itself tells; a text without a fence is one piece and is not looked into."""
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
