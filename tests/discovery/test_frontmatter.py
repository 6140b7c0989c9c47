"""The head of a SKILL.md, whatever its author's editor did to it."""

import codecs
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from flowrail.discovery.diagnostics import HINTS
from flowrail.discovery.scan.frontmatter import (
    LIMIT,
    Frontmatter,
    is_whole,
    read_block,
    read_frontmatter,
)
from flowrail.discovery.scan.frontmatter_rescue import MOST, by_key
from flowrail.discovery.scan.head import read_head

HEAD = "---\nname: a-skill\ndescription: Does things\n---\nbody\n"


def read(text: str | bytes) -> Frontmatter:
    return read_frontmatter(text if isinstance(text, bytes) else text.encode(), "SKILL.md")


def told(front: Frontmatter) -> list[tuple[str, int]]:
    return [(note.code, note.line) for note in front.notes]


def test_keys_and_their_lines_are_read() -> None:
    front = read("---\nname: a-skill\nhandoff:\n  accepts_from: ['*']\n---\nbody: no\n")

    assert front.values == {"name": "a-skill", "handoff": {"accepts_from": ["*"]}}
    assert front.line("name") == 2
    assert front.line("handoff", "accepts_from") == 4
    assert front.line("handoff", "missing") == 3
    assert front.line("missing") == 0
    assert front.notes == ()


def test_scalars_stay_text_as_written() -> None:
    front = read("---\nversion: 1.10\ndate: 2024-01-01\non: yes\nempty:\nquoted: ''\nnumber: 0x1F\n---\n")

    assert front.values == {
        "version": "1.10",
        "date": "2024-01-01",
        "on": "yes",
        "empty": None,
        "quoted": "",
        "number": "0x1F",
    }


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_line_ends_of_all_kinds_are_line_ends(ends: str) -> None:
    front = read(HEAD.replace("\n", ends))

    assert front.values == {"name": "a-skill", "description": "Does things"}
    assert front.line("description") == 3
    assert front.notes == ()


def test_a_byte_order_mark_is_passed_over_and_told() -> None:
    front = read(codecs.BOM_UTF8 + HEAD.encode())

    assert front.values["name"] == "a-skill"
    assert told(front) == [("BYTE_ORDER_MARK", 1)]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_read_and_told(encoding: str) -> None:
    front = read("\ufeff".encode(encoding) + HEAD.encode(encoding))

    assert front.values["name"] == "a-skill"
    assert told(front) == [("UTF16", 1)]


def test_bytes_that_are_no_utf_8_cost_no_key() -> None:
    front = read(b"---\nname: a-skill\ndescription: caf\xe9\n---\n\xff\xff\n")

    assert front.values == {"name": "a-skill", "description": "caf\ufffd"}
    assert told(front) == [("NOT_UTF8", 3)]


@pytest.mark.parametrize("raw", [b"a\x00b", b"a\x1bb", b"a\xc2\x85b", b"a\xe2\x80\xa8b", b"a\xef\xbb\xbfb"])
def test_control_characters_are_replaced_and_told(raw: bytes) -> None:
    front = read(b"---\nname: a-skill\ndescription: " + raw + b"\n---\n")

    assert front.values["name"] == "a-skill"
    assert front.values["description"] in {"a\ufffdb", "a b"}
    assert told(front) == [("CONTROL_CHARACTER", 3)]


def test_escaped_halves_of_a_character_become_the_character() -> None:
    front = read('---\nname: a-skill\ndescription: "go \\ud83d\\ude80 \\ud83d"\n---\n')

    assert front.values["description"] == "go \U0001f680 \ufffd"
    assert told(front) == [("SURROGATES", 3)]


def test_an_unquoted_colon_costs_nothing() -> None:
    front = read("---\nname: a-skill\ndescription: Use it when: always\nlicense: MIT\n---\n")

    assert front.values == {"name": "a-skill", "description": "Use it when: always", "license": "MIT"}
    assert told(front) == [("NOT_QUOTED", 3)]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("[file] [options]", "[file] [options]"),
        ("@mention first", "@mention first"),
        ("`code` first", "`code` first"),
        ("*Use* this", "*Use* this"),
        ("**Bold** start", "**Bold** start"),
        ("'It's fine'", "It's fine"),
        ('"Say "hi" now"', 'Say "hi" now'),
        ('"never closed', "never closed"),
        ('"one" and two', 'one" and two'),
        ("100% sure: yes", "100% sure: yes"),
        ("%percent", "%percent"),
        ("{{template}}: x", "{{template}}: x"),
        ("- not a list: x", "- not a list: x"),
    ],
)
def test_a_text_that_is_no_yaml_is_taken_as_it_stands(written: str, meant: str) -> None:
    front = read(f"---\nname: a-skill\ndescription: {written}\nlicense: MIT\n---\n")

    assert front.values == {"name": "a-skill", "description": meant, "license": "MIT"}
    assert [note.code for note in front.notes] == ["NOT_QUOTED"]


def test_a_text_that_was_wrapped_at_the_margin_is_one_text() -> None:
    front = read("---\ndescription: Use it\nwhen there is need\nname: a-skill\n---\n")

    assert front.values == {"description": "Use it when there is need", "name": "a-skill"}


@pytest.mark.parametrize("written", ["&anchor text", "*alias", "!tag text", "!!python/name:os.system"])
def test_what_means_more_than_it_shows_is_left_out_alone(written: str) -> None:
    front = read(f"---\nname: a-skill\nextra: {written}\nlicense: MIT\n---\n")

    assert front.values == {"name": "a-skill", "license": "MIT"}
    assert told(front) == [("BROKEN_KEY", 3)]


def test_of_a_key_that_stands_twice_the_first_counts() -> None:
    front = read("---\nname: first\ndescription: x\nname: second\n---\n")

    assert front.values == {"name": "first", "description": "x"}
    assert told(front) == [("DUPLICATE_KEY", 4)]
    assert "line 2 and again in line 4" in front.notes[0].reason


def test_tabs_in_the_indentation_are_read_as_spaces() -> None:
    front = read("---\nname: a-skill\nhandoff:\n\taccepts_handoff: true\n\tcategories: [a]\n---\n")

    assert front.values["handoff"] == {"accepts_handoff": "true", "categories": ["a"]}
    assert told(front) == [("TABS", 4)]


def test_more_than_one_thing_can_be_wrong_with_a_key() -> None:
    front = read("---\nname: a-skill\nhandoff:\n\taccepts_handoff: true\n\tdescription: a: b\n---\n")

    assert front.values["handoff"] == {"accepts_handoff": "true", "description": "a: b"}
    assert told(front) == [("TABS", 4), ("NOT_QUOTED", 5)]


def test_a_bad_line_inside_a_block_costs_that_line_only() -> None:
    text = (
        "---\nhandoff:\n  accepts_handoff: true\n  handoff_description: Best: ever\n  x: &a b\n  y: 1\n---\n"
    )

    front = read(text)

    assert front.values["handoff"] == {
        "accepts_handoff": "true",
        "handoff_description": "Best: ever",
        "y": "1",
    }
    assert told(front) == [("NOT_QUOTED", 4), ("BROKEN_KEY", 5)]
    assert front.line("handoff", "y") == 6


def test_a_bad_entry_of_a_list_costs_that_entry_only() -> None:
    front = read(
        '---\nname: a-skill\nallowed-tools:\n# all of them\n- Read\n- "Bash" (git: *)\n- a: b\n---\n'
    )

    assert front.values["allowed-tools"] == ["Read", 'Bash" (git: *)', {"a": "b"}]
    assert told(front) == [("NOT_QUOTED", 6)]
    assert front.line("allowed-tools", 1) == 6


def test_a_blank_that_yaml_does_not_take_for_one_still_parts_key_and_value() -> None:
    front = read("---\nname:\u00a0a-skill\nlicense: MIT\n---\n")

    assert front.values == {"name": "a-skill", "license": "MIT"}
    assert told(front) == [("NOT_QUOTED", 2)]


def test_a_dash_that_begins_no_entry_is_none() -> None:
    front = read("---\nname: a: b\nmetadata:\n  -x\n  y: &a z\n  w: v\n---\n")

    assert front.values["metadata"] == {"w": "v"}


def test_a_block_of_text_that_is_no_yaml_is_taken_as_it_stands() -> None:
    front = read("---\nname: a: b\ndescription: |2x\n  one\n  two: three\n---\n")

    assert front.values["description"] == "one\ntwo: three"


def test_a_block_that_goes_too_deep_is_left_out() -> None:
    deep = "".join(f"{' ' * level}k:\n" for level in range(6)) + f"{' ' * 6}k: &a b\n"

    front = read(f"---\nname: a-skill\n{deep}---\n")

    assert front.values == {"name": "a-skill"}
    assert [note.code for note in front.notes] == ["BROKEN_KEY"]


def test_a_key_with_nothing_in_it_but_a_broken_line_is_left_out() -> None:
    front = read("---\nname: a-skill\nmetadata:\n  &a\n  *b\n---\n")

    assert front.values == {"name": "a-skill"}
    assert [note.code for note in front.notes] == ["STRAY_LINE", "STRAY_LINE", "BROKEN_KEY"]


def test_lines_before_the_first_key_are_told() -> None:
    front = read("---\n# a comment\n\nprose\nname: a: b\n---\n")

    assert front.values == {"name": "a: b"}
    assert told(front) == [("STRAY_LINE", 4), ("NOT_QUOTED", 5)]


def test_quoted_keys_and_keys_with_colons_are_keys() -> None:
    front = read('---\n"name": x\n\'a:b\': y\na:b: z\nurl : http://x\n"no key"\nbad: a: b\n---\n')

    assert front.values["name"] == "x"
    assert front.values["bad"] == "a: b"
    assert "url" in front.values


@pytest.mark.parametrize("line", ["[a: b]", "{a: b}", "&a a: b", "? a: b", "- a: b"])
def test_what_only_looks_like_a_key_is_none(line: str) -> None:
    front = read(f"---\n{line}\nbad: a: b\n---\n")

    assert front.values == {"bad": "a: b"}


def test_more_keys_than_anyone_would_write_are_not_all_read() -> None:
    many = "".join(f"k{number}: v\n" for number in range(MOST + 2))

    front = read(f"---\n{many}bad: a: b\n---\n")

    assert len(front.values) == MOST
    assert [note.code for note in front.notes] == ["TOO_MANY_KEYS"]


@pytest.mark.parametrize("text", ["", "# A heading\n", "name: x\n", "-- -\n", "--- yaml\n", "---"])
def test_a_file_without_frontmatter_says_so(text: str) -> None:
    front = read(text)

    assert front.values == {}
    assert front.problem
    assert (front.problem.code, front.problem.line) == ("NO_FRONTMATTER", 1)


@pytest.mark.parametrize("inside", ["- a\n- b\n", "just text\n", "&a b\n"])
def test_a_frontmatter_that_is_no_mapping_says_so(inside: str) -> None:
    front = read(f"---\n{inside}---\n")

    assert front.problem
    assert front.problem.code == "FRONTMATTER_NOT_MAPPING"


def test_an_empty_frontmatter_declares_nothing() -> None:
    assert read("---\n---\n") == Frontmatter()
    assert read("---\n# only a comment\n---\n") == Frontmatter()


def test_blank_lines_above_are_passed_over_and_told() -> None:
    front = read("\n  \n" + HEAD)

    assert front.line("name") == 4
    assert told(front) == [("LATE_FRONTMATTER", 1)]


@pytest.mark.parametrize(
    "after",
    ["\nProse: here.\n", "# Title\nname: other\n", "Prose without a colon\n", "http://link\n", ""],
)
def test_a_missing_end_is_found_where_the_keys_stop(after: str) -> None:
    front = read(f"---\nname: a-skill\ntags:\n  - x\n- y\nmetadata:\n  a: b\n{after}")

    assert front.values["name"] == "a-skill"
    assert "UNCLOSED_FRONTMATTER" in {note.code for note in front.notes}
    assert front.problem is None


def test_three_dots_end_the_frontmatter_too() -> None:
    assert read("---\nname: x\n...\nother: y\n").values == {"name": "x"}


def test_dashes_inside_a_text_do_not_end_it() -> None:
    assert read("---\nname: x\ntext: |\n  a\n  ---\n  b\n----: y\n---\n").values["text"] == "a\n---\nb\n"


def test_a_frontmatter_longer_than_what_is_read_is_told_and_its_keys_kept() -> None:
    front = read(f"---\nname: x\ndescription: {'long ' * 20_000}\n---\n")

    assert front.values["name"] == "x"
    assert [note.code for note in front.notes] == ["FRONTMATTER_TOO_LONG"]


def test_a_line_of_blanks_as_long_as_the_file_takes_no_time() -> None:
    for filler in (" ", ":", "a:", "\t", "- "):
        front = read(f"---\nname: a: b\nx{filler * (LIMIT // len(filler))}\n---\n")

        assert front.values["name"] == "a: b" or filler == " "


def test_a_block_in_a_text_has_the_lines_of_the_file() -> None:
    block = read_block("accepts: true\nbad: a: b\n", "SKILL.md", 7)

    assert block.line("accepts") == 8
    assert [(note.code, note.line) for note in block.notes] == [("NOT_QUOTED", 9)]


# --- against YAML ---------------------------------------------------------------------------------

WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S", "Zs"]), max_size=12)
KEYS = st.from_regex(r"[a-z][a-z0-9_-]{0,8}", fullmatch=True)
VALUES = st.recursive(
    WORDS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
DOCUMENTS = st.dictionaries(KEYS, VALUES, min_size=1, max_size=5)
STYLES = st.fixed_dictionaries(
    {
        "default_style": st.sampled_from([None, '"', "'"]),
        "width": st.sampled_from([20, 1000]),
        "indent": st.integers(2, 6),
    }
)


@given(DOCUMENTS, STYLES, st.booleans())
@example({"a": "b: c"}, {}, True)
def test_what_is_yaml_is_read_as_yaml_has_it(
    document: dict[str, Any], style: Mapping[str, Any], flow: bool
) -> None:
    text = yaml.safe_dump(document, allow_unicode=True, default_flow_style=flow, **style)

    front = read(f"---\n{text}---\n")

    assert front.values == document
    assert front.notes == ()


@given(DOCUMENTS, STYLES)
def test_key_by_key_gives_what_the_whole_gives(document: dict[str, Any], style: Mapping[str, Any]) -> None:
    text = yaml.safe_dump(document, allow_unicode=True, **style)

    found, notes = by_key(text, "SKILL.md", 0)

    assert found.value == document
    assert notes == []


@given(DOCUMENTS, st.integers(0, 4))
def test_one_bad_line_costs_no_other_key(document: dict[str, Any], place: int) -> None:
    lines = [yaml.safe_dump({key: value}, allow_unicode=True) for key, value in document.items()]
    lines.insert(place, "BAD: a: b: c\n")

    front = read(f"---\n{''.join(lines)}---\n")

    assert front.values == {**document, "BAD": "a: b: c"}


def _both(text: str) -> tuple[object, object]:
    """Return what an independent reader makes of *text*, all scalars as text, and what we do."""
    try:
        theirs: object = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506 - it builds texts only
    except (yaml.YAMLError, ValueError, OverflowError, RecursionError):
        return None, None
    return theirs, read(f"---\n{text}\n---\n")


@given(st.text("ab:- \n\t'\"#|>[]{},&*!%@?~", max_size=40))
def test_where_both_succeed_they_agree(text: str) -> None:
    theirs, ours = _both(text)

    if isinstance(ours, Frontmatter) and not ours.notes and not ours.problem and isinstance(theirs, dict):
        assert _empty_as_text(ours.values) == theirs


def _empty_as_text(value: object) -> object:
    if isinstance(value, dict):
        return {key: _empty_as_text(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_empty_as_text(inner) for inner in value]
    return "" if value is None else value


@given(st.binary(max_size=200))
@example(b"\x00:\x0b")
def test_no_bytes_at_all_make_it_fail(data: bytes) -> None:
    for text in (data, b"---\n" + data, b"---\n" + data + b"\n---\n", codecs.BOM_UTF16_LE + data):
        front = read_frontmatter(text, "SKILL.md")

        assert all(note.code in HINTS for note in front.notes)
        str(front.values).encode()


@given(st.text("ab:- \n\t'\"#|>[]{},&*!%@?~\x00\u2028\\ud83", max_size=80))
def test_no_text_at_all_makes_it_fail(text: str) -> None:
    front = read(f"---\n{text}\n---\n")

    assert front.problem or isinstance(front.values, dict)
    for path in front.lines:
        assert 1 <= front.lines[path] <= text.count("\n") + text.count("\r") + 3


REMARKS = "# a remark\n" * 900


@pytest.mark.parametrize("above", ["", "\n", "\n\n\n\n", " \n\t\n\n\n", "\ufeff\n\n\n"])
@pytest.mark.parametrize("coding", ["utf-8", "utf-16"])
def test_a_long_frontmatter_is_read_whole_whatever_stands_above_it(
    above: str, coding: str, tmp_path: Path
) -> None:
    text = f"{above}---\nname: x\n{REMARKS}handoff:\n  accepts_from: ['*']\n---\nBody.\n"
    (tmp_path / "SKILL.md").write_bytes(text.lstrip("\ufeff" * (coding == "utf-16")).encode(coding))

    head = read_head(str(tmp_path / "SKILL.md"), LIMIT, is_whole)

    assert read_frontmatter(head.data, "SKILL.md").values["handoff"] == {"accepts_from": ["*"]}


def test_no_more_is_read_of_what_has_no_frontmatter(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_bytes(b"# A title\n" * 5_000)

    assert len(read_head(str(tmp_path / "SKILL.md"), LIMIT, is_whole).data) < LIMIT
