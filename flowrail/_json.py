"""JSON that strangers wrote: no key twice, nothing that JSON does not know."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NoReturn

_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\\?\Z)', re.DOTALL)
"""A text, also one that never ends: else every mark in it would be tried as a beginning, to the end of the document."""


def nested(document: bytes, most: int) -> int:
    """Return how many lists and mappings a JSON *document* would become; counted well only from *most* on.

    In memory each takes up to a hundred times its two characters, so this is asked before it is parsed.
    """
    found = document.count(b"[") + document.count(b"{")
    if found <= most:
        return found
    bare = _TEXT.sub(b"", document)
    return bare.count(b"[") + bare.count(b"{")


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
