"""The severities of findings, and which of them block in each round of a review."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from flowrail.machines.frozen import (
    Frozen,
)


class Severity(StrEnum):
    """How much a finding matters: MUST is wrong, SHOULD is worse than it need be, COULD is taste."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    COULD = "COULD"


_ALL, _MOST = frozenset(Severity), frozenset({Severity.MUST, Severity.SHOULD})
_LEAST = frozenset({Severity.MUST})
POLICIES: Mapping[str, Sequence[frozenset[Severity]]] = Frozen(
    {
        "1-2 / 3-4 / 5+": (_ALL, _ALL, _MOST, _MOST, _LEAST),
        "none / 1-4 / 5+": (_MOST, _MOST, _MOST, _MOST, _LEAST),
    }
)
"""For each policy, the severities that block in each round; later rounds are judged as the last one."""
DEFAULT_POLICY = "1-2 / 3-4 / 5+"


def blocking_severities(iteration: int, policy: str = DEFAULT_POLICY) -> frozenset[Severity]:
    """Return the severities that still block in round *iteration*, counted from 1, under a named policy."""
    if iteration < 1:
        raise ValueError(f"rounds count from 1, not {iteration}")
    rounds = POLICIES[policy]
    return rounds[min(iteration, len(rounds)) - 1]
