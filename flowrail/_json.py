"""JSON that strangers wrote: no key twice, nothing that JSON does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

_OUTSIDE = rb"""(?:[^"%b]++|"(?:[^"\\]|\\.)*+(?:"|\\?\Z))*+(?:([%b])|\Z)"""
"""A mark behind texts and all else. Also a text that never ends is one: else every mark in it would be tried as a
beginning, to the end of the document."""


def nested(document: bytes, most: int, marks: bytes = b"[{") -> int:
    """Return how many lists and mappings a JSON *document* would become; counted well only from *most* on.

    In memory each takes up to a hundred times its two characters, so this is asked before it is parsed. With
    other *marks*: how many of those stand outside of its texts.
    """
    found = sum(map(document.count, marks))
    if found <= most:
        return found
    signs = re.escape(marks)
    outside = re.compile(_OUTSIDE % (signs, signs), re.DOTALL)
    return sum(1 for mark in outside.finditer(document) if mark.lastindex)


def read_strictly(text: str, *, number: Callable[[str], float] | None = None) -> Any:
    """Return what *text* says; *number* reads what has a point or an exponent.

    Raises JSONDecodeError where it is no JSON, another ValueError where it is not strict.
    """
    return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant, parse_float=number)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"key `{twice[:60]}` stands there twice")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")
