"""JSON of strangers: what it would become is told before it is parsed, and what is wrong with it with its line."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.documents import PLAIN_DATA
from support.judge import in_time

from flowrail.errors import DocumentError
from flowrail.text.finite import DEEPEST
from flowrail.text.json import (
    NotJsonError,
    lines_of,
    nested,
    place_of_value,
    read_strictly,
)
from flowrail.text.yaml import load


def held(value: object) -> int:
    if isinstance(value, Mapping):
        return 1 + sum(map(held, value.values()))
    return 1 + sum(map(held, value)) if isinstance(value, list) else 0


@given(PLAIN_DATA)
def test_brackets_in_texts_are_no_lists(data: object) -> None:
    for ascii_only in (True, False):
        document = json.dumps(["[{", data, {"{]": '"['}], ensure_ascii=ascii_only).encode()

        assert nested(document, 0) == held(data) + 2


def test_few_brackets_are_counted_as_they_stand() -> None:
    assert nested(b'["[[["]', 4) == 4
    assert nested(b'["[[["]', 3) == 1


@pytest.mark.parametrize("end", ["", "\\", '"', '\\"', "]"])
@pytest.mark.parametrize("piece", ['\\"', '"', "\\", "a"])
def test_a_text_that_never_ends_is_read_once(piece: str, end: str) -> None:
    with in_time("brackets are counted"):
        assert nested(f'[[["{piece * 1_000_000}{end}'.encode(), 2) == 3


def test_counting_takes_less_memory_than_the_document() -> None:
    document = b'"[",' * 300_000

    tracemalloc.start()
    found = nested(document, 0)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert found == 0
    assert nested(document, 0, b",") == 300_000
    assert most < len(document)


# --- what is wrong, and where

DIGITS = "9" * 5_000
ODD = {
    "NaN": "NaN is no JSON number",
    "-Infinity": "-Infinity is no JSON number",
    "1e999999": "1e999999 is too large a number",
    "-2.5E+400": "-2.5E+400 is too large a number",
    DIGITS: "a whole number of more than 4300 digits",
    f"-{DIGITS}": "a whole number of more than 4300 digits",
    '{"a": 1, "\\u0061": {"b": 1}}': "the key `a` stands twice in one object",
    "[" * 100 + "]" * 100: "is nested too deeply",
    "[" * 100_000: "is nested too deeply",
    '{"a":' * 5_000: "is nested too deeply",
}
NO_JSON = {
    "{name: 1}": "a name is missing",
    "{'a': 1}": "a name is missing",
    '{"a" 1}': "a colon is missing",
    "True": "a value is missing",
    "[1, , 2]": "a value is missing",
    "[1 2]": "a comma is missing, or a closing bracket",
    "[1}": "a comma is missing, or a closing bracket",
    '"say "so""': "a comma is missing, or a closing bracket",
    '{"a": 1, }': "a comma stands before the end of a list or an object",
    "[1 ,]": "a comma stands before the end of a list or an object",
    '"\\q"': "an escape that JSON does not have",
    '"\\u12"': "an escape that JSON does not have",
    '"a\tb"': "the character U+0009 stands in a text",
    '"\x1b"': "the character U+001B stands in a text",
    '"a \n"': "a text that is not closed in its line",
}
LOOKS_ODD = 'NaN 1e999999 -Infinity "a": {[[[[ \\" \\ ' + DIGITS


def refused(text: str) -> DocumentError:
    with pytest.raises(DocumentError) as caught:
        read_strictly(text, source="x.json")
    assert (caught.value.code, caught.value.exit_status) == ("DOCUMENT", 2)
    assert str(caught.value.hint)
    for word in ("Expecting", "delimiter", "sys.", "integer string", "enclosed"):
        assert word not in caught.value.message + str(caught.value.hint)
    return caught.value


def put_between(before: object, odd: str, after: object, indent: int | None) -> tuple[str, int]:
    """Return a document that holds *odd* between two values, and the line that it stands in."""
    text = json.dumps({"a": [before, "@here@", after]}, indent=indent)
    at = text.index('"@here@"')
    return text.replace('"@here@"', odd), text.count("\n", 0, at) + 1


@pytest.mark.parametrize("odd", ODD)
@given(PLAIN_DATA, PLAIN_DATA, st.sampled_from([None, 0, 2]))
def test_what_is_not_strict_is_refused_with_its_line(
    odd: str, before: object, after: object, indent: int | None
) -> None:
    text, line = put_between([LOOKS_ODD, before, {LOOKS_ODD: 1}], odd, after, indent)

    error = refused(text)

    assert (error.fact, error.place) == (ODD[odd], f"x.json:{line}")
    assert not isinstance(error, NotJsonError)


@pytest.mark.parametrize("odd", NO_JSON)
@pytest.mark.parametrize("indent", [None, 1])
def test_what_is_no_json_is_told_in_our_words_with_its_line(odd: str, indent: int | None) -> None:
    text, line = put_between([LOOKS_ODD, {}], odd, None, indent)

    error = refused(text)

    assert isinstance(error, NotJsonError)
    assert error.fact.startswith(f"is no JSON: {NO_JSON[odd]} (column ")
    assert error.place == f"x.json:{line}"


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("", "x.json:1", "is no JSON: a value is missing (column 1)"),
        ("\n\n", "x.json:1", "is no JSON: a value is missing (column 1)"),
        ('{\n"a": 1,\n}\n', "x.json:2", "is no JSON: a comma stands before the end of a list or an object (column 7)"),
        ('{\n"a": [1\n\n\n', "x.json:2", "is no JSON: a comma is missing, or a closing bracket (column 8)"),
        ('{"a": \n"b', "x.json:2", "is no JSON: quotes that are never closed (column 1)"),
        ('{"a": "b \n', "x.json:1", "is no JSON: a text that is not closed in its line (column 10)"),
        ("{}\n {}", "x.json:2", "is no JSON: something follows the document (column 2)"),
        ("\ufeff{}", "x.json:1", "is no JSON: it begins with two byte order marks (column 1)"),
        ('{"a": 1,\n"b": 2,\n"a": 3,\n"b": 4}', "x.json:3", "the key `a` stands in line 1 and again in line 3"),
        ('{"a": {"b": {}},\n"b": {},\n"a": 1}', "x.json:3", "the key `a` stands in line 1 and again in line 3"),
        (f"[\n{'9' * 400}.5]", "x.json:2", f"{'9' * 60}… is too large a number"),
        (f"[{'9' * 5_000}e1,\n1e5000", "x.json:1", f"{'9' * 60}… is too large a number"),
        (f"[0.{'9' * 5_000},\n{DIGITS}x", "x.json:2", "a whole number of more than 4300 digits"),
        ("[NaN,\n1e999, nope", "x.json:1", "NaN is no JSON number"),
    ],
)  # fmt: skip
def test_the_place_is_that_of_the_mistake(text: str, place: str, fact: str) -> None:
    error = refused(text)

    assert (error.place, error.fact) == (place, fact)


@pytest.mark.parametrize("name", ["n" * 1_000, "\x1b[31m\nflow: \u202e", "é\ud800", "` x; run `y`"])
def test_a_name_of_a_strangers_is_quoted_in_part_and_in_one_line(name: str) -> None:
    fact = refused(f"{{{json.dumps(name)}: 1,\n{json.dumps(name)}: 2}}").fact

    assert fact.isprintable()
    assert fact.count("`") == 2
    assert len(fact) < 200


@pytest.mark.parametrize("levels", [DEEPEST, DEEPEST + 1])
@pytest.mark.parametrize(("opening", "closing"), [("[\n", "]"), ('{"a":\n', "}")])
def test_so_many_levels_are_read(opening: str, closing: str, levels: int) -> None:
    text = opening * levels + "1" + closing * levels

    if levels == DEEPEST:
        read_strictly(text, source="x.json")
    else:
        assert refused(text).place == f"x.json:{levels}"


@given(PLAIN_DATA)
def test_what_is_json_is_read_as_json(data: object) -> None:
    assert read_strictly(json.dumps(data), source="x.json") == data


@given(PLAIN_DATA)
def test_values_are_counted_as_they_stand(data: object) -> None:
    text = json.dumps(data, indent=1)

    def begun(value: object) -> int:
        if isinstance(value, Mapping):
            return 1 + len(value) + sum(map(begun, value.values()))
        return 1 + sum(map(begun, value)) if isinstance(value, list) else 1

    last = text.rstrip("]} \n")
    empty = text[len(last) : len(last) + 1] in {"]", "}"} and last.endswith(("[", "{"))
    lines = last.count("\n") + 1
    assert place_of_value(text, 0, "x.json") == "x.json:1"
    if not empty:
        assert place_of_value(text, begun(data) - 1, "x.json") == f"x.json:{lines}"


NAMED = st.text(alphabet='ab01 "\\{}[],:é', min_size=1, max_size=4)
NESTED = st.recursive(
    NAMED | st.integers(-9, 9) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMED, inner, max_size=3),
    max_leaves=15,
)


@given(NESTED, st.sampled_from([None, 0, 3]), st.sampled_from([(",", ":"), (", ", ": "), (" ,\n\n", " : ")]))
def test_everything_stands_where_a_reader_of_yaml_sees_it(
    data: object, indent: int | None, separators: tuple[str, str]
) -> None:
    text = "\n" + json.dumps(data, indent=indent, separators=separators)

    assert lines_of(text) == load(text, source="x").places


@pytest.mark.parametrize("piece", ['"",', '"\\"",', "[],", "{},", '{"a":{}},', "1,", "1e1,", "-,", '"'])
@pytest.mark.parametrize("end", ["NaN]", f"{DIGITS}]", '{"a": 1, "a": 2}]', "[" * 40, '"', "\\"])
def test_a_long_document_is_looked_through_once(piece: str, end: str) -> None:
    with in_time("a place is looked for"):
        refused(f"[{piece * (900_000 // len(piece))}{end}")
