"""Suggest the name that a user may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import TypeVar

_LONGEST = 40
_MOST_COMPARED = 200
_Otherwise = TypeVar("_Otherwise")


def near(name: str, known: Iterable[str]) -> list[str]:
    """Return up to three of *known* that *name* may have meant, best first. Case is ignored.

    Only the first 200 names of up to 40 characters are compared: difflib takes time in proportion to the
    product of their lengths.
    """
    from difflib import get_close_matches  # only needed for errors; importing it takes 2 ms

    if len(name) > _LONGEST:
        return []
    names: dict[str, list[str]] = {}
    usable = (candidate for candidate in known if len(candidate) <= _LONGEST and "`" not in candidate)
    for candidate in islice(dict.fromkeys(usable), _MOST_COMPARED):
        names.setdefault(candidate.casefold(), []).append(candidate)
    wanted = name.casefold()
    close = get_close_matches(wanted, names)
    longer = [other for other in names if wanted and (other.startswith(wanted) or wanted.startswith(other))]
    return [match for folded in dict.fromkeys([*close, *longer]) for match in names[folded]][:3]


def did_you_mean(name: str, known: Iterable[str], otherwise: _Otherwise) -> str | _Otherwise:
    """Return a hint that names what is near *name*, or *otherwise*."""
    close = near(name, known)
    return f"did you mean {', '.join(f'`{match}`' for match in close)}?" if close else otherwise


class Suggestions:
    """Suggestions for the first 20 problems of a document; a document may hold thousands of wrong names."""

    def __init__(self) -> None:
        self._left = 20

    def did_you_mean(self, name: str, known: Iterable[str], otherwise: str) -> str:
        """Return a hint that names what is near *name*, or *otherwise*."""
        self._left -= 1
        return did_you_mean(name, known, otherwise) if self._left >= 0 else otherwise
