"""What few steps have: blocks that replace the fences in a text, and the texts around a step in a review loop.

A gate always prints three things: the banner (which round of how many), the stop condition (fix nothing here, run the
one printed command), and that the next review starts from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable

from flowrail.formatters.blocks.fences import with_blocks
from flowrail.formatters.blocks.instructions import format_forbidden, format_state_banner
from flowrail.machines.guidance.views import LoopView
from flowrail.text.safe_text import Markup

_STOP = format_forbidden(
    ["Fixing anything here", "Calling a blocking finding minor", "Any flow command that is not printed here"]
)
_PASSED = format_forbidden(["Reviewing again what has passed"])
_UNREVIEWED = "The review failed and recorded no findings, so the gate does not pass."
_KEEP_SECRET = format_forbidden(["Telling the reviewer what was found before"])


def loop_pieces(loop: LoopView) -> tuple[list[str | Markup], list[str | Markup]]:
    """Return the texts before and after the step's own text."""
    banner = format_state_banner(loop.name, loop.round, loop.mode, limit=loop.limit)
    found = ", ".join(loop.blocking)
    named = ", ".join(loop.severities)
    blocked = (
        _UNREVIEWED
        if loop.unreviewed
        else f"The gate does not pass: {found}. Severities that block in this round: {named}."
    )
    match loop.mode:
        case "passed":
            return [
                banner,
                f"The gate passes: no open finding blocks ({named} would). This was the last round.",
            ], [_PASSED]
        case "failed":
            back = f"Back to: {loop.fixed_in}" if loop.unreviewed else f"Fix in: {loop.fixed_in}"
            again = f"{back}. Then it is reviewed again."
            return [banner, blocked, again], [_STOP]
        case "re-verify" if loop.only_changes:
            return [
                banner,
                "This round reviews only what changed since the last one, and what refers to that.",
            ], []
        case "re-verify":
            return [banner, "This round reviews everything from the start, as if it were the first."], [
                _KEEP_SECRET
            ]
        case "ask-user":
            asked = "No rounds are left. The user decides how to continue."
            return [banner, blocked, asked], [_STOP]
        case "fix":
            if loop.unreviewed:
                return [banner, f"{_UNREVIEWED} Fix what stopped the review."], []
            left = f"To fix, because they block: {found}." if found else "All findings are marked as settled."
            return [banner, f"Sent back by the review of round {loop.round}. {left}"], []
    return [banner, "The review has not ended in this round, so the gate cannot decide yet."], [_STOP]


def fence_pieces(text: str, resources: Callable[[str], str]) -> list[str | Markup]:
    """Return the blocks of the fences in *text*, and the texts around them."""
    return with_blocks(text, resources)
