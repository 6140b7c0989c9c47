"""A text that is well-formed XML already, so that nothing escapes it a second time."""

from __future__ import annotations

from typing import Self


class Markup(str):
    """XML content: elements and escaped text. Whoever makes one vouches for that.

    Only its type says so. What is cut from it, joined to it or filled in is a plain text again, and
    is escaped like any other: a slip shows, and lets nothing through.
    """

    __slots__ = ()

    def __str__(self) -> Self:
        return self
