"""YAML is read strictly, with lines, and written so that every reader understands it the same way."""

import enum
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.plain_data import NEARLY_YAML, PLAIN_DATA

from flowrail.errors import DocumentError
from flowrail.text import size_limits
from flowrail.text.yaml import YamlError, YamlRefusedError, dump, load


def value(text: str | bytes, **options: Any) -> object:
    return load(text, source="a.yaml", **options).value


def error_of(text: str | bytes) -> YamlError:
    with pytest.raises(YamlError) as caught:
        load(text, source="a.yaml")
    return caught.value


# --- values and lines


CORE: list[tuple[object, str]] = [
    (None, "null Null NULL ~"),
    (True, "true True TRUE"),
    (False, "false False FALSE"),
    (0, "0 -0"),
    (15, "15 +15 015 0o17 0xF"),
    (10**40 - 1, "9" * 40),
    (-0.5, "-.5 -0.5 -5E-1"),
    (1000.0, "1e3 1000."),
    (0.0, "1e-999"),
]
TEXTS = """on off yes no y N nULL tRUE 12:30 1:2:3 2024-01-01 2024-01-01T00:00:00Z 1_000 1.10.2 0b1 0o8 0xg
    inf nan + . e3 1e = << -.nan --1 ٣"""
MEANT = [(text, meant) for meant, texts in CORE for text in texts.split()]


@pytest.mark.parametrize(("text", "meant"), [*MEANT, *((text, text) for text in TEXTS.split())])
def test_a_plain_scalar_has_its_meaning_in_yaml_1_2(text: str, meant: object) -> None:
    items = value(f"[{text} , x]")

    assert isinstance(items, list)
    assert (items[0], type(items[0])) == (meant, type(meant))


# --- errors


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("a: 1\nb: &x 1", 2, "the anchor `x` is not allowed"),
        ("a: 1\nb: *x", 2, "the alias `x` is not allowed"),
        ("a:\n- !!python/object:os.system {}", 2, "the tag `tag:yaml.org,2002:python/object:os"),
        ("a: 1\nb: 2\na: 3", 3, "duplicate key `a` (first in line 1)"),
        ("a: {b: 1,\n'b': 3}", 2, "duplicate key `b` (first in line 1)"),
        ("a: {}\n<<: {b: 1}", 2, "the merge key `<<` is not allowed"),
        ("a: 1\n? [b]\n: 1", 2, "a list or mapping cannot be a key"),
        ("a: 1\nb: -.INF", 2, "`-.INF` is not a finite number"),
        ("a: 1\nb: .NaN", 2, "`.NaN` is not a finite number"),
        ("a: 1\nb: 1e999", 2, "`1e999` is not a finite number"),
        ("a: 1\nb: " + 9999 * "1", 2, "has more than 40 digits"),
        ("a: 1\nb: x\x85c: 1", 2, "the line separator U+0085 is not allowed"),
        ("a: 1\nb: x\u2028c: 1", 2, "the line separator U+2028 is not allowed"),
    ],
)
def test_unsupported_yaml_is_refused_with_its_line(text: str, line: int, fact: str) -> None:
    error = error_of(text)

    assert isinstance(error, YamlRefusedError)
    assert (error.code, error.exit_status, error.place) == ("YAML_REFUSED", 2, f"a.yaml:{line}")
    assert fact in error.fact
    assert error.hint


@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        ("a: 1\nb: c: d", "a.yaml:2", "a second `: ` in one line"),
        ("a: 1\nb: @x", "a.yaml:2", "found character that cannot start any token (column 4)"),
        ("a: 1\nb: 'x\n\n", "a.yaml:2", "while scanning a quoted scalar, found unexpected end of stream"),
        ("a: 1\n---\nb: 1", "a.yaml:2", "expected a single document in the stream, but found another"),
        ('a: "\\q"', "a.yaml:1", "escape"),
        ("a: \0", "a.yaml", "control characters are not allowed"),
    ],
)
def test_a_syntax_error_has_line_and_column(text: str, place: str, fact: str) -> None:
    error = error_of(text)

    assert (error.code, error.place) == ("YAML_SYNTAX", place)
    assert fact in error.fact


@pytest.mark.parametrize(
    ("fits", "too_much", "fact"),
    [
        ("#" * size_limits.YAML_BYTES, "#" * (size_limits.YAML_BYTES + 1), "is larger than 262144 bytes"),
        ("é" * (size_limits.YAML_BYTES // 2), "é" * (size_limits.YAML_BYTES // 2 + 1), "is larger than"),
        ("[" * 32 + "x" + "]" * 32, "[" * 33 + "]" * 33, "more than 32 nested levels"),
        ("[" + "a," * 19_999 + "]", "[" + "a," * 20_000 + "]", "more than 20000 values"),
    ],
    ids=["bytes", "bytes of text", "depth", "values"],
)
def test_limits_are_inclusive(fits: str, too_much: str, fact: str) -> None:
    value(fits)
    value(fits.encode())

    for document in (too_much, too_much.encode()):
        error = error_of(document)
        assert isinstance(error, YamlRefusedError)
        assert fact in error.fact


@given(st.binary(max_size=200) | st.text(max_size=200) | st.text(st.characters(), max_size=50) | NEARLY_YAML)
def test_any_input_is_a_document_or_an_error(data: bytes | str) -> None:
    with suppress(DocumentError):
        load(data, source="a")


@given(NEARLY_YAML)
def test_a_document_has_the_content_that_pyyaml_reads(text: str) -> None:
    try:
        content = value(text, plain_text=True)
    except YamlRefusedError:
        return
    except YamlError:
        with pytest.raises(yaml.YAMLError):
            read_by_pyyaml(text)
        return

    assert without_none(content) == without_none(read_by_pyyaml(text))


def read_by_pyyaml(text: str) -> object:
    return yaml.load(text, Loader=yaml.CBaseLoader)  # noqa: S506 - it builds texts only


def without_none(data: object) -> object:
    match data:
        case None:
            return ""
        case dict():
            return {key: without_none(item) for key, item in data.items()}
        case list():
            return [without_none(item) for item in data]
    return data


# --- writing


@pytest.mark.parametrize("read", [value, yaml.safe_load], ids=["flowrail", "YAML 1.1"])
@given(PLAIN_DATA)
def test_written_data_is_read_back_equal(read: Callable[[str], object], data: object) -> None:
    assert repr(read(dump(data))) == repr(data)


class Colour(str, enum.Enum):  # noqa: UP042 - its str() is "Colour.RED"
    RED = "red"
