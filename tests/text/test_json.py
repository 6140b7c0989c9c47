"""JSON is read strictly, and only values that JSON can hold get into a session."""

from __future__ import annotations

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


@pytest.mark.parametrize("text", ["[NaN]", "-Infinity", "1e999"])
def test_a_record_never_has_a_number_that_json_lacks(text: str) -> None:
    with pytest.raises(ValueError, match="not a JSON number"):
        strict_json.parse(text)
