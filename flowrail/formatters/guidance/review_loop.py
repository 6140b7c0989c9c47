"""What a session's review loop tells beside the step: which round this is, what blocks, what not to do.

At a gate these are three things, and none may be missing: the banner (which round of how many), the stop
condition (nothing is mended here, and one command follows), and that the next review is a fresh one.
"""

from __future__ import annotations

from flowrail.formatters.blocks.instructions import format_forbidden, format_state_banner
from flowrail.machines.guidance.views import LoopView
from flowrail.text.markup import Markup

_STOP = format_forbidden(
    ["Mending anything here", "Calling minor what blocks", "Any command but those printed here"]
)
_GO_ON = format_forbidden(["Reviewing once more what has passed"])
_UNREVIEWED = (
    "Its review failed and put nothing on record: nobody has seen that all is well, so it does not pass."
)
_UNTOLD = format_forbidden(["Telling the reviewer what was found before"])


def loop_pieces(loop: LoopView) -> tuple[list[str | Markup], list[str | Markup]]:
    """Return what stands before the step's own text, and what stands after it."""
    banner = format_state_banner(loop.name, loop.round, loop.mode, limit=loop.limit)
    found = ", ".join(loop.blocking)
    named = ", ".join(loop.severities)
    blocked = _UNREVIEWED if loop.unreviewed else f"In this round {named} block: {found}."
    match loop.mode:
        case "passed":
            return [banner, f"Of {named}, nothing is on record in this round."], [_GO_ON]
        case "re-verify" if loop.severities:
            back = f"Back to: {loop.mended_in}" if loop.unreviewed else f"To be mended in: {loop.mended_in}"
            again = f"{back}. Then all of it is reviewed afresh."
            return [banner, blocked, again], [_STOP]
        case "re-verify":
            return [banner, "A fresh review of all of it, as if there had been none."], [_UNTOLD]
        case "ask-user":
            asked = "The rounds are used up, and it is the user who says how to go on."
            return [banner, blocked, asked], [_STOP]
        case "fix":
            if loop.unreviewed:
                return [banner, f"{_UNREVIEWED} See to what kept the review from its work."], []
            left = f"To mend: {found}." if found else "All that was found is marked as settled."
            return [banner, f"Sent back by its review. {left}"], []
    return [banner, "Its review has not ended in this round, so there is nothing to decide from."], [_STOP]
