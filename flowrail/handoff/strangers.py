"""Records of handoffs that somebody else wrote, looked at before anything is told of them.

Ours hold what we put there. Those that came with a clone may hold anything in the parts that are plain
data to the journal, also where their hashes are right.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from typing import Any

from flowrail.handoff.entries import Entry
from flowrail.handoff.handoff import PHASES, Handoff
from flowrail.handoff.payload.integrity import moment

LONGEST_NAME = 200
DEEPEST = 64
"""Twice as deep as a payload may be."""
MOST_VALUES = 60_000
"""In one record: three times what a payload may hold, which stands there once, its facts beside it."""
MOST_NOTED = 1_000
"""In a note, all of which are told."""
MOST_RECORDS = 1_000
LARGEST_JOURNAL = 32 * 1024 * 1024
_LARGEST_NUMBER = 2**53

_NUMBERS = ("revision", "hops", "size", "attempts")
_STAMPS = ("started_at", "expires_at")
_CHECK = {"name": str, "holds": bool, "told": str}
_CLAIM = {"by": str, "at": str, "session": str}
_PROBLEM = {"code": str, "message": str}
_MAYBE = {"hint": str, "payload_preserved": str}


def wrong_with(entry: Entry) -> str:
    """Return what no record of ours has, or nothing."""
    return next(_wrong(entry), "")


def _wrong(entry: Entry) -> Iterator[str]:
    if len(entry.kind) > LONGEST_NAME:
        yield f"`kind` has more than {LONGEST_NAME} characters"
    if moment(entry.at) is None:
        yield "`at` is no moment"
    yield from _plain("note", entry.note, MOST_NOTED)
    yield from _plain("handoff", entry.handoff, MOST_VALUES)
    yield from _of_the_handoff(entry.handoff)


def _of_the_handoff(handoff: Handoff) -> Iterator[str]:
    if handoff.phase not in PHASES:
        yield "`phase` is none of the lifecycle"
    for name in _NUMBERS:
        if not 0 <= getattr(handoff, name) <= _LARGEST_NUMBER:
            yield f"`{name}` is out of range"
    for name in _STAMPS:
        said = getattr(handoff, name)
        if said and moment(said) is None:
            yield f"`{name}` is no moment"
    for check in handoff.checks:
        yield from _of_kinds("checks", check, _CHECK)
    if handoff.claim:
        yield from _of_kinds("claim", handoff.claim, _CLAIM)
    if handoff.problem:
        yield from _of_kinds("problem", handoff.problem, _PROBLEM)
        known = {name: each for name, each in handoff.problem.items() if each is not None}
        yield from _of_kinds("problem", {**dict.fromkeys(_MAYBE, ""), **known}, _MAYBE)


def _of_kinds(name: str, value: Mapping[str, Any], kinds: Mapping[str, type]) -> Iterator[str]:
    for key, kind in kinds.items():
        if type(value.get(key)) is not kind:
            yield f"`{name}` holds no {kind.__name__} at `{key}`"


def _plain(name: str, value: object, most: int) -> Iterator[str]:
    """Say what is wrong with plain data: how deep, how many, numbers that JSON does not know."""
    level, count = [value], 0
    for _ in range(DEEPEST):
        inner: list[object] = []
        for each in level:
            if isinstance(each, float) and not isfinite(each):
                yield f"`{name}` holds what is no number"
            elif isinstance(each, Mapping):
                inner += each.values()
            elif isinstance(each, list | tuple):
                inner += each
        count += len(inner)
        if count > most:
            yield f"`{name}` holds more than {most} values"
        if not inner:
            return
        level = inner
    yield f"`{name}` is nested deeper than {DEEPEST} levels"
