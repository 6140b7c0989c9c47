"""How the lines of a ``flow:`` fence become its block; what a kind needs, `fence_kinds` has made sure of."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flowrail.formatters.blocks import instructions
from flowrail.formatters.blocks.fence_kinds import Body


def make(name: str, body: Body) -> str:
    """Return the block of that name; `ValueError` where the values do not fit each other."""
    if name in MAKERS:
        return MAKERS[name](body)
    from flowrail.formatters.blocks import fence_scripts

    return fence_scripts.MAKERS[name](body)


def _state_banner(body: Body) -> str:
    about = body.get("checkpoint"), body.get("iteration"), body.get("mode")
    return instructions.format_state_banner(*about, body.items, limit=body.maybe_number("limit"))


MAKERS: Mapping[str, Callable[[Body], str]] = {
    "forbidden": lambda body: instructions.format_forbidden(body.items),
    "expected_output": lambda body: instructions.format_expected_output(body.items),
    "incorrect_behavior": lambda body: instructions.format_incorrect_behavior(
        body.items, body.get("consequence")
    ),
    "detection_questions": lambda body: instructions.format_detection_questions(
        body.items, body.maybe("category")
    ),
    "verification_checklist": lambda body: instructions.format_verification_checklist(
        body.items, body.maybe("name")
    ),
    "state_banner": _state_banner,
    "routing": lambda body: instructions.format_routing(body.fields),
    "open_question_guidance": lambda _: instructions.format_open_question_guidance(),
    "factored_verification_rationale": lambda _: instructions.format_factored_verification_rationale(),
}
