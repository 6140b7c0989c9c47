"""Words of a picture: foreign text on one line, lengths kept in bounds, times as people say them."""

from __future__ import annotations

import html
from itertools import pairwise

from flowrail.text.safe_text import blanked

LONGEST = 300
"""How much of one foreign text a picture shows; the rest is an ellipsis."""

_SHORT = 10.0
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def line(text: str, most: int = LONGEST) -> str:
    """Return *text* as one line of characters that show themselves, cut to *most*."""
    text, looked_at = " ".join(text.split()), 2 * most
    shown = _shown(text[:looked_at])
    while len(shown) <= most and looked_at < len(text):  # most of it need not be looked at
        looked_at *= 2
        shown = _shown(text[:looked_at])
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def _shown(text: str) -> str:
    return " ".join(blanked(text).split())


def lines(text: str) -> str:
    """Return *text* with its line breaks, every other character that does not show itself blanked."""
    return "\n".join(blanked(each, keep="\t").rstrip() for each in text.replace("\r\n", "\n").split("\n"))


def escaped(text: str) -> str:
    """Return *text* on one line as the content of an element."""
    return html.escape(line(text, 1_000))


def escaped_lines(text: str) -> str:
    """Return *text* with its line breaks as the content of an element."""
    return html.escape(lines(text))


def attribute(name: str, value: str) -> str:
    """Return an attribute with a space before it."""
    return f' {name}="{escaped(value)}"'


def times(count: int) -> str:
    """Return how often something was or may be done."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def took(seconds: float) -> str:
    """Return a length of time in the two largest units that matter."""
    if seconds < _SHORT:
        return f"{seconds:.1f} s"
    left = round(seconds)
    for (unit, size), (smaller, part) in pairwise(_UNITS):
        if left >= size:
            count, rest = divmod(left, size)
            return f"{count} {unit} {rest // part} {smaller}" if rest // part else f"{count} {unit}"
    return f"{left} s"
