"""Read JSON strictly: no duplicate keys, no NaN, and nothing beyond `text.limits`.

`load` reads documents that flowrail did not write and reports the line of an error. `parse` reads records that
flowrail wrote. `problem` checks whether a value can be stored as JSON.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, NoReturn

from flowrail.errors import DocumentError
from flowrail.text import size_limits
from flowrail.text.safe_text import in_quotes, shortened

_LARGEST_INTEGER = 10**size_limits.INTEGER_DIGITS


class JsonError(DocumentError):
    """The text is not JSON."""

    code = "JSON_SYNTAX"


class JsonRefusedError(JsonError):
    """The text is JSON, but uses something that flowrail does not accept."""

    code = "JSON_REFUSED"


def load(text: str, *, source: str, values: int = size_limits.JSON_VALUES) -> object:
    """Return the value of a JSON *text* with at most so many *values*.

    Raises `JsonError`, with the line of a syntax error.
    """
    if len(text) > size_limits.JSON_BYTES:
        raise _refused(f"is larger than {size_limits.JSON_BYTES} bytes", source)
    try:
        value = json.loads(
            text, object_pairs_hook=_without_duplicates, parse_constant=_no_number, parse_float=_finite
        )
    except json.JSONDecodeError as error:
        raise JsonError(
            f"invalid JSON: {error.msg} (column {error.colno})",
            hint="check the quotes, commas and brackets here and just above",
            place=f"{source}:{error.lineno}",
        ) from None
    except _ForbiddenJsonError as refused:
        raise _refused(str(refused), source) from None
    except RecursionError:
        raise _refused(_TOO_DEEP, source) from None
    except ValueError:  # `int` refuses thousands of digits
        raise _refused(_TOO_MANY_DIGITS, source) from None
    if message := problem(value, values=values):
        raise _refused(message, source)
    return value


def parse(text: str) -> Any:
    """Return the value of a JSON *text* that flowrail wrote; ValueError for NaN and infinite numbers."""
    return _decode(text)


def problem(value: object, *, values: int = size_limits.JSON_VALUES) -> str | None:
    """Return why *value* cannot be stored as JSON, in words that follow its name, or `None`."""
    level = [value]
    count = 0
    for _ in range(size_limits.DEPTH + 1):
        below: list[object] = []
        for item in level:
            if isinstance(item, float) and not math.isfinite(item):
                return f"holds {item}, which is not a JSON number"
            if isinstance(item, int) and not -_LARGEST_INTEGER < item < _LARGEST_INTEGER:
                return _TOO_MANY_DIGITS
            if isinstance(item, Mapping):
                count += len(item)
                below += item.values()
            elif isinstance(item, (list, tuple)):
                below += item
        count += len(level)
        if count > values:
            return f"holds more than {values} values"
        if not below:
            return None
        level = below
    return _TOO_DEEP


_TOO_DEEP = f"is nested deeper than {size_limits.DEPTH} levels"
_TOO_MANY_DIGITS = f"holds an integer of more than {size_limits.INTEGER_DIGITS} digits"


class _ForbiddenJsonError(ValueError):
    """Something in a document that JSON does not define, or defines ambiguously."""


def _refused(message: str, source: str) -> JsonRefusedError:
    return JsonRefusedError(
        f"the document {message}", hint="change that value, or split the document", place=source
    )


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise _ForbiddenJsonError(f"has the key `{in_quotes(shortened(name, 60))}` twice in one object")
    return value


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


def _no_number(text: str) -> NoReturn:
    raise _ForbiddenJsonError(f"holds {shortened(text, 40)}, which is not a JSON number")


_decode = json.JSONDecoder(parse_float=_finite, parse_constant=_no_number).decode
