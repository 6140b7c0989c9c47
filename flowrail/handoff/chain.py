"""Who handed to whom, and when that has to end. Pure.

A skill never hands to itself. To a skill that the work came through already, only with consent and a
reason. Over five skills the user approves. Consent and chain are claims that an agent can make, so
hops are counted in our own records as well, and nothing lifts the last limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

LONG_CHAIN = 5
MOST_HOPS = 8
_MOST_DRAWN, _LONGEST_NAME = 16, 80


class Consent(NamedTuple):
    """What was said for handing over all the same."""

    yes: bool = False
    reason: str = ""
    approved: bool = False


class Verdict(NamedTuple):
    """Whether the chain may grow by that target: a code and what is so, or nothing; ``loop`` in any case."""

    code: str = ""
    message: str = ""
    hint: str = ""
    mendable: bool = False
    loop: bool = False

    @property
    def allowed(self) -> bool:
        """Whether the target may be handed to."""
        return not self.code


def grown(chain: Sequence[str], source: str) -> tuple[str, ...]:
    """Return the chain with the one who hands over at its end."""
    return tuple(chain) if chain and chain[-1] == source else (*chain, source)


def drawn(chain: Sequence[str], target: str) -> str:
    """Return the chain as it reads, the target last; of a very long one its end."""
    names = [*chain, target]
    shown = [
        each if len(each) <= _LONGEST_NAME else f"{each[:_LONGEST_NAME]}…" for each in names[-_MOST_DRAWN:]
    ]
    return " → ".join([*(["…"] if len(names) > _MOST_DRAWN else []), *shown])


def judge(chain: Sequence[str], target: str, *, hops: int, consent: Consent) -> Verdict:
    """Return whether the last of *chain* may hand to *target*, this being hop number *hops*."""
    shown = drawn(chain, target)
    if target == chain[-1]:
        return Verdict("SELF", f"`{target}` would hand to itself", "choose another target")
    loop = target in chain
    hops = max(hops, len(chain))
    if hops > MOST_HOPS:
        told = f"this would be handoff {hops} of one piece of work, {MOST_HOPS} are the most: {shown}"
        return Verdict("TOO_MANY_HOPS", told, "end the work here, or begin anew with the user", loop=loop)
    if loop and not (consent.yes and consent.reason.strip()):
        told = f"`{target}` had this work before: {shown}"
        return Verdict("LOOP", told, "give `--yes` and `--reason WHY` if the user wants it so", True, True)
    if len(chain) > LONG_CHAIN and not consent.approved:
        told = f"the work came through {len(chain)} skills, over {LONG_CHAIN} the user approves: {shown}"
        return Verdict("NOT_APPROVED", told, "ask the user; then give `--approved`", True, loop)
    return Verdict(loop=loop)
