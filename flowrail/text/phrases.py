"""Parts of sentences: counts, lists of names, values in words, and suggestions for misspelt names."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeVar

from flowrail.text.safe_text import shortened

if TYPE_CHECKING:
    from datetime import datetime

MOST_LISTED = 60
_MOST_JOINED = 12
_SHORT = 10.0
_KB, _MB = 1_000, 1_000_000
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))


def count(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural if needed."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def listed(names: Iterable[object]) -> str:
    """Return names in back quotes, separated by commas; at most `MOST_LISTED` of them."""
    all_names = [*names]
    shown = ", ".join(f"`{name}`" for name in all_names[:MOST_LISTED])
    return shown if len(all_names) <= MOST_LISTED else f"{shown} and {len(all_names) - MOST_LISTED} more"


def joined(texts: Sequence[str]) -> str:
    """Return texts separated by commas, each shortened; at most 12 of them."""
    more = f" and {len(texts) - _MOST_JOINED} more" if len(texts) > _MOST_JOINED else ""
    return ", ".join(shortened(text, 60) for text in texts[:_MOST_JOINED]) + more


def in_words(value: object) -> str:
    """Return a value as it reads in a sentence."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple)):
        return ", ".join(in_words(item) for item in value)
    if isinstance(value, Mapping):
        import json  # 1 ms, and help shows no value

        return json.dumps(dict(value), ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: Any) -> object:
    return dict(value) if isinstance(value, Mapping) else list(value)


def times(number: int) -> str:
    """Return a number of times in words: `once`, `twice`, `3 times`."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def ago(then: str, now: str) -> str:
    """Return how long before *now* a moment was, in one unit: `just now`, `3 min ago`, `2 d ago`."""
    seconds = seconds_between(then, now)
    if seconds is None:
        return "at an unknown time"
    unit, size = next(((unit, size) for unit, size in _UNITS[:-1] if seconds >= size), ("", 1.0))
    return f"{int(seconds // size)} {unit} ago" if unit else "just now"


def iso_time(seconds: float) -> str:
    """Return a time in seconds since 1970 in ISO 8601, to the millisecond."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 1000):03d}Z"


def this_moment() -> str:
    """Return the current time in the same form."""
    return iso_time(time.time())


def moment(text: str) -> datetime | None:
    """Return the time that *text* names, in UTC. A time without an offset is read as UTC."""
    from datetime import UTC, datetime  # commands that print no ages do not need it

    try:
        parsed = datetime.fromisoformat(text)
        return parsed.replace(tzinfo=UTC) if parsed.tzinfo is None else parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def seconds_between(then: str, now: str) -> float | None:
    """Return the seconds from one moment to another in ISO 8601, at least 0, or `None` if either is not a time."""
    from datetime import datetime  # commands that print no ages do not need it

    try:
        return max(0.0, (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds())
    except (TypeError, ValueError):
        return None


def moment_after(now: str, seconds: float) -> str:
    """Return the moment *seconds* after *now* in ISO 8601; empty if *now* is not a time."""
    from datetime import UTC, datetime, timedelta  # as above

    try:
        moment = datetime.fromisoformat(now)
    except ValueError:
        return ""
    text = (moment + timedelta(seconds=seconds)).astimezone(UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")


def size(number: int) -> str:
    """Return a number of bytes as people read it: `812 bytes`, `6 kB`, `1.5 MB`."""
    if number < _KB:
        return count(number, "byte")
    return f"{number / _KB:.0f} kB" if number < _MB else f"{number / _MB:.1f} MB"


def duration(seconds: float | None) -> str:
    """Return a duration in its two largest units, such as `1 h 5 min`; below ten seconds with one decimal.

    An unknown duration is empty.
    """
    if seconds is None:
        return ""
    if seconds < _SHORT:
        return f"{seconds:.1f} s"
    left = round(seconds)
    for (unit, size), (smaller_unit, smaller_size) in pairwise(_UNITS):
        if left >= size:
            number, rest = divmod(left, size)
            smaller = rest // smaller_size
            return f"{number} {unit} {smaller} {smaller_unit}" if smaller else f"{number} {unit}"
    return f"{left} s"


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
    longer = [
        folded for folded in names if wanted and (folded.startswith(wanted) or wanted.startswith(folded))
    ]
    return [match for match_name in dict.fromkeys([*close, *longer]) for match in names[match_name]][:3]


def did_you_mean(name: str, known: Iterable[str], otherwise: _Otherwise) -> str | _Otherwise:
    """Return a hint that names the closest matches of *name*, or *otherwise*."""
    close = near(name, known)
    return f"did you mean {', '.join(f'`{match}`' for match in close)}?" if close else otherwise


class Suggestions:
    """Suggestions for the first 20 problems of a document; a document may hold thousands of wrong names."""

    def __init__(self) -> None:
        self._left = 20

    def did_you_mean(self, name: str, known: Iterable[str], otherwise: str) -> str:
        """Return a hint that names the closest matches of *name*, or *otherwise*."""
        self._left -= 1
        return did_you_mean(name, known, otherwise) if self._left >= 0 else otherwise


_IN_A_DAY = {"m": 1440.0, "h": 24.0, "d": 1.0, "w": 1 / 7}


def days_of(text: str) -> float | None:
    """Return the days of a number with or without a unit, such as 30m, 12h, 7d or 2w, or `None`."""
    per_day = _IN_A_DAY.get(text[-1:])
    try:
        days = float(text[:-1]) / per_day if per_day else float(text)
    except ValueError:
        return None
    return days if isfinite(days) and days >= 0 and text.isascii() else None
