"""The one bounded loader of YAML, and the writer whose texts it reads back."""

import enum
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any
from unittest import mock

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from support.documents import HOSTILE, NEARLY_YAML, PLAIN_DATA
from support.hostile import HIDDEN
from support.judge import hidden_in

from flowrail.text import yaml as yaml_text
from flowrail.text.yaml import (
    Limits,
    YamlError,
    YamlRefused,
    dump,
    load,
)

PAIRS: list[tuple[Any, Any]] = [(yaml.SafeLoader, yaml.BaseLoader)]
if yaml.__with_libyaml__:
    PAIRS.append((yaml.CSafeLoader, yaml.CBaseLoader))

either_loader = pytest.mark.parametrize("loader", [safe for safe, _ in PAIRS], ids=lambda each: each.__name__)


@contextmanager
def using(loader: object) -> Iterator[None]:
    with mock.patch.object(yaml_text, "_LOADER", loader):
        yield


def value(text: str | bytes, **options: Any) -> object:
    return load(text, source="a.yaml", **options).value


def refusal(text: str | bytes, loader: object = yaml_text._LOADER, **options: Any) -> YamlError:
    with using(loader), pytest.raises(YamlError) as caught:
        load(text, source="a.yaml", **options)
    return caught.value


# --- values and places

WORKFLOW = """\
# how to
name: look
steps:
  - id: first
    next: {ok: second,
           fail: null}

  - id: second
    text: |
      one
      two
"""


@either_loader
def test_a_document_is_plain_data_with_places(loader: object) -> None:
    with using(loader):
        document = load(WORKFLOW, source="workflow.yaml")

    assert document.value == {
        "name": "look",
        "steps": [
            {"id": "first", "next": {"ok": "second", "fail": None}},
            {"id": "second", "text": "one\ntwo\n"},
        ],
    }
    assert document.places == {
        (): 2,
        ("name",): 2,
        ("steps",): 3,
        ("steps", 0): 4,
        ("steps", 0, "id"): 4,
        ("steps", 0, "next"): 5,
        ("steps", 0, "next", "ok"): 5,
        ("steps", 0, "next", "fail"): 6,
        ("steps", 1): 8,
        ("steps", 1, "id"): 8,
        ("steps", 1, "text"): 9,
    }


def test_what_the_document_lacks_stands_where_its_nearest_ancestor_does() -> None:
    document = load(WORKFLOW, source="workflow.yaml")

    assert document.place(["steps", 0, "next", "iterate", 7]) == "workflow.yaml:5"
    assert document.place(["nothing"]) == "workflow.yaml:2"
    assert document.place([]) == "workflow.yaml:2"
    assert document._replace(places={}).line(["nothing"]) == 1


@either_loader
@pytest.mark.parametrize(
    "text", ["", "\n", "# only this\n", "---\n", "---\n...\n", "\ufeff", "~", b"", b"\xef\xbb\xbf"]
)
def test_an_empty_document_is_none(loader: object, text: str | bytes) -> None:
    with using(loader):
        document = load(text, source="a.yaml")

    assert document.value is None


@either_loader
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
def test_lines_end_in_every_usual_way(loader: object, end: str) -> None:
    with using(loader):
        document = load(WORKFLOW.replace("\n", end).encode(), source="a.yaml")

    assert document.line(["steps", 1, "text"]) == 9
    assert document.value == value(WORKFLOW)


def test_a_byte_order_mark_is_dropped() -> None:
    assert value(b"\xef\xbb\xbfa: 1") == value("\ufeffa: 1") == {"a": 1}


CORE = [
    *((text, None) for text in ("null", "Null", "NULL", "~", "")),
    *((text, True) for text in ("true", "True", "TRUE")),
    *((text, False) for text in ("false", "False", "FALSE")),
    *(("0", 0), ("-0", 0), ("+12", 12), ("-12", -12), ("007", 7), ("0o17", 15), ("0xFf", 255)),
    *(("9" * 19, 10**19 - 1), ("-" + "9" * 19, 1 - 10**19), ("0" * 5000 + "1", 1)),
    *(("1.0", 1.0), ("-.5", -0.5), ("1.", 1.0), ("1e3", 1000.0), ("1.5E-2", 0.015), ("1e-999", 0.0)),
    *(
        (text, text)
        for text in ("on", "off", "yes", "no", "y", "N", "nULL", "tRUE", "12:30", "1:2:3", "190:20:30")
    ),
    *(
        (text, text)
        for text in ("2024-01-01", "2024-01-01T00:00:00Z", "1_000", "1.10.2", "0b1", "0o8", "0xg")
    ),
    *((text, text) for text in ("inf", "nan", "+", ".", "e3", "1e", "=", "<<", "-.nan", "--1", "٣", "a b")),
]


@either_loader
@pytest.mark.parametrize(("text", "meant"), CORE, ids=lambda each: repr(each)[:24])
def test_a_plain_scalar_means_what_yaml_1_2_says(loader: object, text: str, meant: object) -> None:
    with using(loader):
        got = value(f"[{text} , x]" if text else "[~, x]")

    assert isinstance(got, list)
    assert (got[0], type(got[0])) == (meant, type(meant))


@pytest.mark.parametrize(
    "text", [text for text, _ in CORE if text] + [".inf", "1" * 99], ids=lambda each: each[:24]
)
def test_quotes_and_plain_text_keep_a_scalar_as_it_is_written(text: str) -> None:
    assert value(f"['{text}', \"{text}\"]") == [text, text]
    assert value(f"a: {text}", plain_text=True) == {"a": text}


def test_plain_text_is_none_only_where_nothing_is_written() -> None:
    assert value("a:\nb: ''\nc: ~\nd: [null, 1.10]", plain_text=True) == {
        "a": None,
        "b": "",
        "c": "~",
        "d": ["null", "1.10"],
    }


def test_keys_are_text_whatever_they_look_like() -> None:
    assert value('1: a\ntrue: b\n2024-01-01: c\n~: d\n"": e\n"<<": f\n? g\n: h') == {
        "1": "a",
        "true": "b",
        "2024-01-01": "c",
        "~": "d",
        "": "e",
        "<<": "f",
        "g": "h",
    }


# --- refusals


@either_loader
@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        pytest.param("a: 1\nb: &x 1", 2, "`&x` is an anchor", id="anchor"),
        pytest.param("a: 1\nb: &x [1]", 2, "`&x` is an anchor", id="anchor of a list"),
        pytest.param("a: 1\nb: *x", 2, "`*x` refers to an anchor", id="alias"),
        pytest.param("a:\n- !x 1", 2, "`!x` is a tag", id="own tag"),
        pytest.param("a:\n- ! 1", 2, "`!` is a tag", id="bare tag"),
        pytest.param("a:\n- !!str 1", 2, "is a tag", id="known tag"),
        pytest.param("a:\n- !!python/object:os.system {}", 2, "is a tag", id="python tag"),
        pytest.param("a: {}\n<<: {b: 1}", 2, "`<<` merges mappings", id="merge key"),
        pytest.param("a: 1\n?\n: 2", 2, "there is no key before the `:`", id="no key"),
        pytest.param("a: 1\n---\nb: 1", 2, "a second document begins", id="second document"),
        pytest.param("# x\n\n%YAML 1.2\n---\na: 1", 3, "is a directive", id="directive"),
        pytest.param("# x\r\n%FOO\r\n---\r\na: 1", 2, "is a directive", id="unknown directive"),
        pytest.param(
            "a: 1\nb: 2\na: 3", 3, "the key `a` stands in line 1 and again in line 3", id="key twice"
        ),
        pytest.param(
            "a: {b: 1,\n'b': 3}", 2, "the key `b` stands in line 1 and again", id="quoted key twice"
        ),
        pytest.param("a: 1\n? [b]\n: 1", 2, "a list or mapping as a key", id="list as key"),
        pytest.param("a: 1\n? {b: 1}\n: 1", 2, "a list or mapping as a key", id="mapping as key"),
        pytest.param("a: 1\nb: .inf", 2, "`.inf` is no finite number", id="infinity"),
        pytest.param("a: 1\nb: -.INF", 2, "`-.INF` is no finite number", id="minus infinity"),
        pytest.param("a: 1\nb: .NaN", 2, "`.NaN` is no finite number", id="not a number"),
        pytest.param("a: 1\nb: 1e999", 2, "`1e999` is no finite number", id="overflow"),
        pytest.param("a: 1\nb: 1" + 19 * "0", 2, "has more than 19 digits", id="20 digits"),
        pytest.param("a: 1\nb: 0x" + 17 * "f", 2, "has more than 19 digits", id="hexadecimal"),
        pytest.param("a: 1\nb: " + 9999 * "1", 2, "111…` has more than 19 digits", id="9999 digits"),
        pytest.param("a: 1\nb: \0", 2, "the character U+0000", id="NUL"),
        pytest.param("a: 1\nb: \x1b[0m", 2, "the character U+001B", id="escape character"),
        pytest.param("a: 1\nb: \x7f", 2, "the character U+007F", id="DEL"),
        pytest.param("a: 1\nb: \x85", 2, "the character U+0085", id="NEL"),
        pytest.param("a: 1\nb: \u2028", 2, "the character U+2028", id="line separator"),
        pytest.param("a: 1\n\ufeffb: 1", 2, "the character U+FEFF", id="byte order mark inside"),
        pytest.param("a: 1\nb: \ud800", 2, "the character U+D800", id="surrogate"),
        pytest.param("a: 1\nb: \uffff", 2, "the character U+FFFF", id="no character"),
    ],
)
def test_what_is_not_taken_is_refused_with_its_line(loader: object, text: str, line: int, fact: str) -> None:
    error = refusal(text, loader)

    assert isinstance(error, YamlRefused)
    assert (error.code, error.exit_status, error.place) == ("YAML_REFUSED", 2, f"a.yaml:{line}")
    assert fact in error.fact
    assert error.hint


def test_a_key_that_stands_twice_is_named_in_the_details() -> None:
    error = refusal("a: 1\na: 2")

    assert (error.details["key"], error.details["first"]) == ("a", 1)


@either_loader
@pytest.mark.parametrize(
    ("text", "place", "fact"),
    [
        pytest.param("a: 1\nb: c: d", (2, 5), "a `: ` where no key can be", id="second colon"),
        pytest.param("a:\n\tb: 1", (2, 1), "a character that cannot begin a value", id="tab"),
        pytest.param("a: 1\nb: @x", (2, 4), "a character that cannot begin a value", id="at sign"),
        pytest.param("a: 1\nb: 'x\n\n", (2, 4), "quotes that are never closed", id="open quote"),
        pytest.param('a: "x\n---\n', (1, 4), "quotes that are not closed before", id="quote and end"),
        pytest.param("a:\n [1,\n 2\nb: 1", (4, 2), "a bracket that is not closed", id="open bracket"),
        pytest.param("a: {b: 1,\nc: 2 d]", (2, 7), "a bracket that is not closed", id="wrong bracket"),
        pytest.param("- a\nb: 1", (2, 1), "a line that does not fit those around it", id="key after entry"),
        pytest.param("a:\n   b: 1\n  c: 1", (3, 3), "a line that does not fit those around it", id="crooked"),
        pytest.param("a: 1\nb\nc: 1", (2, 1), "a line that is no `key: value`", id="no key"),
        pytest.param("a: - b", (1, 4), "a `- ` where no list can be", id="list beside a key"),
        pytest.param('a: "\\q"', (1, None), "an escape that YAML does not have", id="unknown escape"),
        pytest.param('a: "\\uZZ"', (1, None), "an escape", id="no digits"),
        pytest.param(
            "a: b\n...\nc: d", (3, 1), "text after the end of the document", id="text after the end"
        ),
        pytest.param("a: |x\n", (1, None), "no YAML from here on", id="odd block"),
        pytest.param("a: !<x", (1, None), "no YAML from here on", id="odd tag"),
    ],
)
def test_a_mistake_is_told_in_our_words_with_line_and_column(
    loader: object, text: str, place: tuple[int, int | None], fact: str
) -> None:
    error = refusal(text, loader)

    line, column = place
    found = error.details["column"]
    assert (error.code, error.place) == ("YAML_SYNTAX", f"a.yaml:{line}")
    assert column in {found, None}  # None: the loaders do not agree
    assert error.fact.startswith(fact)
    assert error.fact.endswith(f" (column {found})")


def test_an_escape_for_what_is_no_character_is_a_mistake_to_both_loaders() -> None:
    told = [refusal('a: "\\UFFFFFFFF"', loader) for loader, _ in PAIRS]

    assert {error.code for error in told} == {"YAML_SYNTAX"}


def test_half_a_character_does_not_come_in_by_an_escape() -> None:
    error = refusal('a: 1\nb: "\\ud800"', yaml.SafeLoader)

    assert (error.fact, error.place) == ("an escape for half a character", "a.yaml:2")


def test_an_error_without_a_mark_still_names_the_document() -> None:
    class Unmarked(yaml.SafeLoader):
        def check_event(self, *choices: object) -> bool:
            raise yaml.MarkedYAMLError(problem="who knows")

    assert refusal("a", Unmarked).place == "a.yaml"


@pytest.mark.parametrize(
    ("data", "place", "fact"),
    [
        (b"a: 1\r\nb: \xff", "a.yaml:2", "byte 0xFF is not UTF-8"),
        ("a: é".encode("latin-1"), "a.yaml:1", "byte 0xE9 is not UTF-8"),
        (b"a: \xed\xa0\x80", "a.yaml:1", "byte 0xED is not UTF-8"),
        ("a: 1".encode("utf-16"), "a.yaml:1", "the file is UTF-16 or UTF-32"),
        ("a: 1".encode("utf-32"), "a.yaml:1", "the file is UTF-16 or UTF-32"),
        ("a: 1".encode("utf-16-be"), "a.yaml:1", "the character U+0000 stands in the text"),
    ],
    ids=["bad byte", "latin-1", "surrogate", "utf-16", "utf-32", "utf-16 without a mark"],
)
def test_bytes_must_be_utf_8(data: bytes, place: str, fact: str) -> None:
    error = refusal(data)

    assert (error.place, error.fact) == (place, fact)


def test_messages_repeat_little_of_the_document_and_nothing_unprintable() -> None:
    error = refusal('"\\e[31m' + "k" * 5000 + '": 1\n"\\e[31m' + "k" * 5000 + '": 1')

    assert error.message.isprintable()
    assert len(error.message) < 200


# --- bounds


@either_loader
@pytest.mark.parametrize(
    ("limits", "fits", "too_much"),
    [
        pytest.param(Limits(bytes=5), "a: xy", "a: xyz", id="bytes"),
        pytest.param(Limits(bytes=5), "a: é", "a: éé", id="bytes of text"),
        pytest.param(Limits(depth=2), "a: [b]", "a: [[b]]", id="depth"),
        pytest.param(Limits(depth=0), "a", "[]", id="depth of nothing"),
        pytest.param(Limits(nodes=5), "a: [b, c]", "a: [b, c, d]", id="nodes"),
        pytest.param(Limits(scalar=3), "abc: def", "abc: defg", id="text"),
        pytest.param(Limits(scalar=3), "abc: def", "abcd: def", id="key"),
    ],
)
def test_bounds_are_the_last_that_fits(loader: object, limits: Limits, fits: str, too_much: str) -> None:
    with using(loader):
        value(fits, limits=limits)
        value(fits.encode(), limits=limits)

    for each in (too_much, too_much.encode()):
        error = refusal(each, loader, limits=limits)
        assert isinstance(error, YamlRefused)
        assert "more than" in error.fact


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_answered(name: str) -> None:
    with suppress(YamlError):
        value(HOSTILE[name])


# --- whatever comes


@given(st.binary(max_size=200) | st.text(max_size=200) | st.text(st.characters(), max_size=50) | NEARLY_YAML)
def test_whatever_comes_is_a_document_or_refused(data: bytes | str) -> None:
    for loader, _ in PAIRS:
        with using(loader), suppress(YamlError):
            load(data, source="a")


@given(NEARLY_YAML)
def test_what_is_read_is_what_pyyaml_itself_reads(text: str) -> None:
    for loader, base in PAIRS:
        with using(loader):
            try:
                got = value(text, plain_text=True)
            except YamlRefused:
                continue
            except YamlError:
                with pytest.raises(yaml.YAMLError):
                    by_pyyaml(text, base)
                continue

        assert without_none(got) == without_none(by_pyyaml(text, base))


def by_pyyaml(text: str, loader: Any) -> object:
    return loader(text).get_single_data()


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


@given(PLAIN_DATA)
def test_what_is_written_is_read_back_by_us_and_by_every_loader_of_pyyaml(data: object) -> None:
    text = dump(data)

    assert text.endswith("\n")
    for loader, _ in PAIRS:
        with using(loader):
            assert same(value(text), data)
        assert same(by_pyyaml(text, loader), data)


@pytest.mark.parametrize("text", [*HIDDEN.values(), *(f"a\n{each}\nb" for each in HIDDEN.values())])
def test_what_hides_in_a_text_is_written_as_an_escape(text: str) -> None:
    shown = text.replace("\ud800", "")

    written = dump({shown: [shown]})

    assert hidden_in(written) == []
    for loader, _ in PAIRS:
        with using(loader):
            assert value(written) == {shown: [shown]}


def same(one: object, other: object) -> bool:
    """Say whether both are equal and of the same types, -0.0 and order included."""
    return repr(one) == repr(other)


def test_data_is_written_to_be_read_by_people() -> None:
    data = {
        "name": "problem analysis",
        "on": ["a, b", "yes", "1.10", "12:30", "x: y", "größer", 1, 1e16, True, None, ""],
        "steps": [{"id": "look", "next": {"ok": None}, "texts": []}, [1, [2]], {}],
        "text": "first\n\n  indented: yes\nlast",
        "told": ("all\nof it\n",),
        "k" * 1001: {"a": 1},
    }

    assert (
        dump(data)
        == f"""\
name: problem analysis
"on":
  - a, b
  - "yes"
  - "1.10"
  - "12:30"
  - "x: y"
  - größer
  - 1
  - 1.0e+16
  - true
  - null
  - ""
steps:
  - id: look
    next:
      ok: null
    texts: []
  - - 1
    - - 2
  - {{}}
text: |-
  first

    indented: yes
  last
told:
  - |
    all
    of it
? {"k" * 1001}
:
  a: 1
"""
    )
    assert load(dump(data), source="a").value == {**data, "told": ["all\nof it\n"]}


@pytest.mark.parametrize(
    ("data", "text"), [("a", "a\n"), ("a\nb", "|-\n  a\n  b\n"), ([], "[]\n"), (None, "null\n")]
)
def test_a_document_may_be_one_value(data: object, text: str) -> None:
    assert dump(data) == text
    assert value(text) == data


class Colour(str, enum.Enum):  # noqa: UP042 - its str() is "Colour.RED"
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


def test_kinds_of_text_and_numbers_are_written_as_their_values() -> None:
    assert dump({Colour.RED: [Colour.RED, Level.HIGH]}) == "red:\n  - red\n  - 3\n"


def nested(depth: int) -> object:
    data: object = "x"
    for _ in range(depth):
        data = [data]
    return data


def test_what_could_just_be_read_back_is_written() -> None:
    for data in (nested(32), ["x"] * 19_999, "x" * 262_144, "x\n" * 131_072, 10**19 - 1):
        assert value(dump(data)) == data


@pytest.mark.parametrize(
    ("data", "place", "fact"),
    [
        pytest.param({"a": [1, float("inf")]}, "a[1]", "a number that is not finite", id="infinity"),
        pytest.param([float("nan")], "[0]", "a number that is not finite", id="not a number"),
        pytest.param({"a": {"b c": 10**19}}, "a.b c", "a number of more than 19 digits", id="large number"),
        pytest.param({"a": "\ud800"}, "a", "half a character (a lone surrogate)", id="surrogate"),
        pytest.param({"\ud800": 1}, "the data", "half a character (a lone surrogate)", id="surrogate as key"),
        pytest.param("\ud800\n", "the data", "half a character (a lone surrogate)", id="surrogate in lines"),
        pytest.param(nested(33), "[0]" * 32, "more than 32 levels", id="deep"),
        pytest.param(["x"] * 20_000, "[19999]", "more than 20000 values", id="values"),
        pytest.param("x" * 262_145, "the data", "a text of more than 262144 characters", id="text"),
        pytest.param("x\n" * 131_073, "the data", "a text of more than 262144 characters", id="lines"),
        pytest.param(["x" * 250_000] * 5, "the data", "the document has more than 1000000 bytes", id="bytes"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(data: object, place: str, fact: str) -> None:
    with pytest.raises(YamlRefused) as caught:
        dump(data)

    assert (caught.value.place, caught.value.fact) == (place, fact)


def test_data_that_holds_itself_is_refused() -> None:
    data: list[object] = []
    data.append(data)

    with pytest.raises(YamlRefused, match="more than 32 levels"):
        dump(data)


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        ({"a": {1, 2}}, "a is a set, which is no plain data"),
        (b"x", "the data is a bytes, which is no plain data"),
        ({"a": {1: 2}}, "a has a key that is a int, not text"),
    ],
)
def test_what_is_no_plain_data_is_a_mistake_of_the_caller(data: object, fact: str) -> None:
    with pytest.raises(TypeError, match=fact):
        dump(data)
