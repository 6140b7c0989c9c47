"""The characters that hide, reorder or end lines: none of them is ever shown or written as it stands."""

from __future__ import annotations

import re

HIDDEN = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters but tab, line feed, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\ufe00-\ufe0d\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format controls
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"  # zero width, bidi
    "\u2800\U00016fe4\U0001d159"  # blank for others than those who write Braille, Khitan or music
    "\ufdd0-\ufdef"  # what is no character, here and at the end of each plane
    "\U0001fffe\U0001ffff\U0002fffe\U0002ffff\U0003fffe\U0003ffff\U0004fffe\U0004ffff"
    "\U0005fffe\U0005ffff\U0006fffe\U0006ffff\U0007fffe\U0007ffff\U0008fffe\U0008ffff"
    "\U0009fffe\U0009ffff\U000afffe\U000affff\U000bfffe\U000bffff\U000cfffe\U000cffff"
    "\U000dfffe\U000dffff\U000efffe\U000effff\U000ffffe\U000fffff\U0010fffe\U0010ffff"
    "\ud800-\udfff"  # surrogates, which no encoder takes
    "\U000e0000-\U000e0fff]"  # tags and variation selectors
)
"""A character class for regular expressions."""

_HIDDEN = re.compile(HIDDEN)


def hides(text: str) -> bool:
    """Return whether *text* has one of them."""
    return bool(_HIDDEN.search(text))


def code_points(text: str) -> str:
    """Return *text* with each of them written as its code point, as it is shown everywhere."""
    return _HIDDEN.sub(lambda found: f"⟨U+{ord(found.group()):04X}⟩", text)


def is_shown(text: str) -> bool:
    """Return whether *text* is one line of which every character shows itself."""
    return text.isprintable() and (text.isascii() or not hides(text))


def in_quotes(name: str) -> str:
    """Return *name* as it may stand between back quotes: one of its own, which would end them, as its code point."""
    return name.replace("`", "⟨U+0060⟩")


def can_be_typed(text: str) -> bool:
    """Return whether *text* on a line is read from there as it is: none of them in it, no tab, no end of a line."""
    return not (hides(text) or any(each in text for each in "\t\n\r"))


def blanked(text: str, *, keep: str = "") -> str:
    """Return *text* with a blank for each character that does not show itself and is none of those to *keep*."""
    if is_shown(text):
        return text
    return "".join(char if char.isprintable() or char in keep else " " for char in _HIDDEN.sub(" ", text))
