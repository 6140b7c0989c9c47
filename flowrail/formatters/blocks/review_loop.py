"""The state of a review loop in words, around the text of a step."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.formatters.blocks.instructions import format_forbidden, format_state_banner
from flowrail.machines.guidance.review_loop import ReviewLoop
from flowrail.text.phrases import count
from flowrail.text.safe_text import Markup


def loop_pieces(loop: ReviewLoop) -> tuple[list[str | Markup], list[str | Markup]]:
    """Return the texts of a review loop before and after the step's own text.

    A gate always prints three things: the banner (which round of how many), the stop condition (fix nothing here, run
    the one printed command), and that the next review starts from the beginning.
    """
    banner = format_state_banner(loop.name, loop.round, loop.mode, limit=loop.limit)
    blocking, severities = ", ".join(loop.blocking), ", ".join(loop.severities)
    found = f": {blocking}" if blocking else ""
    blocked_text = f"The gate does not pass{found}. Severities that block in this round: {severities}."
    blocked_text = _UNREVIEWED if loop.unreviewed else blocked_text
    texts: list[str | Markup] = []
    forbidden: Sequence[str] = ()
    match loop.mode:
        case "passed":
            texts = [
                f"The gate passes: no finding of this round blocks (only {severities} do). No further review is needed."
            ]
            forbidden = ("Reviewing again what has passed",)
        case "failed":
            back = "Back to" if loop.unreviewed else "Fix in"
            texts, forbidden = [blocked_text, f"{back}: {loop.fixed_in}. Then it is reviewed again."], _STOP
        case "re-verify":
            texts = ["This round reviews everything from the start, as if it were the first."]
            forbidden = ("Telling the reviewer what was found before",)
        case "ask-user":
            texts, forbidden = (
                [
                    blocked_text,
                    f"The limit of {count(loop.limit, 'round')} is reached. The user decides how to continue.",
                ],
                _STOP,
            )
        case "fix" if loop.unreviewed:
            texts = [f"{_UNREVIEWED} Fix what stopped the review."]
        case "fix":
            to_fix = (
                f"To fix, because they block: {blocking}."
                if blocking
                else "All findings are marked as settled."
            )
            texts = [f"Sent back by the review of round {loop.round}. {to_fix}"]
        case _:
            texts = ["The review has not ended in this round, so the gate cannot decide yet."]
            forbidden = _STOP
    return [banner, *texts], [format_forbidden(forbidden)] if forbidden else []


_STOP = (
    "Fixing anything here",
    "Calling a blocking finding minor",
    "Continuing with any command that is not printed here",
)
_UNREVIEWED = "The review failed and recorded no findings, so the gate does not pass."
