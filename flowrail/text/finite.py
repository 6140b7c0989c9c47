"""What JSON can say: no NaN, no infinity, no number or depth that another reader of it would not take.

Python's own reader and writer take more, so values are judged before they are kept, and records as they are read.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import JSONDecoder
from typing import Any, NoReturn

DEEPEST = 32
"""So many lists and mappings in each other."""
MOST_DIGITS = 40
"""A whole number with more of them is a text."""
_LARGEST = 10**MOST_DIGITS


def unkeepable(value: Any) -> str | None:
    """Say what keeps *value* from being kept as JSON, in words that go on from its name, or return `None`."""
    level = [value]
    for _ in range(DEEPEST + 1):
        below: list[Any] = []
        for each in level:
            if isinstance(each, float) and not is_finite(each):
                return f"holds {each}, which is no number in JSON"
            if isinstance(each, int) and not -_LARGEST < each < _LARGEST:
                return f"holds a whole number of more than {MOST_DIGITS} digits"
            if isinstance(each, Mapping):
                below += each.values()
            elif isinstance(each, (list, tuple)):
                below += each
        if not below:
            return None
        level = below
    return f"is nested deeper than {DEEPEST} levels"


def is_finite(number: float) -> bool:
    """Return whether *number* is neither NaN nor an infinity; taken from itself, neither leaves nothing."""
    return number - number == 0


def read(text: str) -> Any:
    """Return what a JSON *text* of ours says; ValueError also where a number in it is none."""
    return _decode(text)


def _float(text: str) -> float:
    number = float(text)
    return number if is_finite(number) else _refuse(text[:MOST_DIGITS])


def _refuse(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number in JSON")


_decode = JSONDecoder(parse_float=_float, parse_constant=_refuse).decode
