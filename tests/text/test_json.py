"""JSON is read strictly, and only values that JSON can hold get into a session."""

from __future__ import annotations

from typing import Any

import pytest

from flowrail.text import json as strict_json
from flowrail.text import size_limits
from flowrail.text.json import JsonError, JsonRefusedError

DIGITS = "9" * 5_000


def error_of(text: str) -> JsonError:
    with pytest.raises(JsonError) as caught:
        strict_json.load(text, source="x.json")
    return caught.value


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("", "x.json:1", "invalid JSON: Expecting value (column 1)"),
        ('{"a" 1}', "x.json:1", "invalid JSON: Expecting ':' delimiter (column 6)"),
        ('{\n"a": [1 2]}', "x.json:2", "invalid JSON: Expecting ',' delimiter (column 9)"),
        ("{}\n {}", "x.json:2", "invalid JSON: Extra data (column 2)"),
    ],
)
def test_a_syntax_error_has_line_and_column(text: str, place: str, fact: str) -> None:
    error = error_of(text)

    assert (error.code, error.place, error.fact) == ("JSON_SYNTAX", place, fact)


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("[NaN]", "holds NaN, which is not a JSON number"),
        ("-Infinity", "holds -Infinity, which is not a JSON number"),
        ("-2.5E+400", "holds -2.5E+400, which is not a JSON number"),
        (DIGITS, "holds an integer of more than 40 digits"),
        (f"[{DIGITS[:41]}]", "holds an integer of more than 40 digits"),
        ('{"a": 1, "\\u0061": {"b": 1}}', "has the key `a` twice in one object"),
        ('{"`\\u202e": 1, "`\\u202e": 2}', "has the key `⟨U+0060⟩⟨U+202E⟩` twice in one object"),
        ("[" * 32 + "[1]" + "]" * 32, "is nested deeper than 32 levels"),
        ("[" * 100_000, "is nested deeper than 32 levels"),
        ("[" + "1," * 200_000 + "1]", "holds more than 200000 values"),
        (" " * (size_limits.JSON_BYTES + 1), "is larger than 4194304 bytes"),
    ],
    ids=lambda value: value[:20],
)
def test_ambiguous_json_is_refused(text: str, fact: str) -> None:
    error = error_of(text)

    assert isinstance(error, JsonRefusedError)
    assert error.message == f"x.json: the document {fact}"


@pytest.mark.parametrize("levels", [size_limits.DEPTH, size_limits.DEPTH + 1])
def test_the_depth_limit_is_inclusive(levels: int) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value]

    assert (strict_json.problem(value) is None) == (levels <= size_limits.DEPTH)


@pytest.mark.parametrize("text", ["[NaN]", "-Infinity", "1e999"])
def test_a_record_never_has_a_number_that_json_lacks(text: str) -> None:
    with pytest.raises(ValueError, match="not a JSON number"):
        strict_json.parse(text)
