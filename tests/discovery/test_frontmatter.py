"""The frontmatter of a SKILL.md."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from flowrail.discovery.scan.frontmatter import Frontmatter, read_block, read_file, read_frontmatter

HEAD = "---\nname: a-skill\ndescription: Does things\n---\nbody\n"


def read(text: str | bytes) -> Frontmatter:
    return read_frontmatter(text if isinstance(text, bytes) else text.encode(), "SKILL.md")


def problem(text: str | bytes) -> tuple[str, int]:
    found = read(text).problem
    assert found
    return found.code, found.line


def notes(front: Frontmatter) -> list[tuple[str, int]]:
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
def test_all_kinds_of_line_ends_are_read(ends: str) -> None:
    front = read(HEAD.replace("\n", ends))

    assert front.values == {"name": "a-skill", "description": "Does things"}
    assert front.line("description") == 3
    assert front.notes == ()


def test_bytes_that_are_not_utf_8_are_replaced_with_a_note() -> None:
    front = read(b"---\nname: a-skill\ndescription: caf\xe9\n---\n\xff\xff\n")

    assert front.values == {"name": "a-skill", "description": "caf\ufffd"}
    assert notes(front) == [("NOT_UTF8", 3)]


@pytest.mark.parametrize(
    "description", ["Use it when: always", "it's: done", 'say "yes": then go', "(first: second)", "a: b: c"]
)
def test_an_unquoted_colon_in_a_top_level_text_is_tolerated_with_a_note(description: str) -> None:
    front = read(f"---\nname: a-skill\ndescription: {description}\nlicense: MIT\n---\n")

    assert front.values == {"name": "a-skill", "description": description, "license": "MIT"}
    assert notes(front) == [("NOT_QUOTED", 3)]


@pytest.mark.parametrize(
    "line",
    [
        "hint: [file] [mode]",
        "by: @me",
        "name: twice",
        "extra: &a b",
        "extra: !!python/object:os.system {}",
        "stray",
    ],
)
def test_other_invalid_yaml_is_a_problem_with_its_line(line: str) -> None:
    code, number = problem(f"---\nname: a-skill\n{line}\n---\n")

    assert code == "INVALID_FRONTMATTER"
    assert number in {3, 4}


@pytest.mark.parametrize("text", ["", "# A heading\n", "name: x\n", "-- -\n", "--- yaml\n", "---"])
def test_a_file_without_frontmatter_is_a_problem(text: str) -> None:
    assert read(text).values == {}
    assert problem(text) == ("NO_FRONTMATTER", 1)


@pytest.mark.parametrize("inside", ["- a\n- b\n", "just text\n"])
def test_a_frontmatter_that_is_not_a_mapping_is_a_problem(inside: str) -> None:
    assert problem(f"---\n{inside}---\n") == ("INVALID_FRONTMATTER", 2)


def test_a_block_in_a_text_has_the_lines_of_the_file() -> None:
    block = read_block("accepts: true\nbad: a: b\n", "SKILL.md", 7)

    assert block.line("accepts") == 8
    assert notes(block) == [("NOT_QUOTED", 9)]


@pytest.mark.parametrize("above", ["", "\n\n\n\n", "\ufeff\n\n\n"])
def test_a_long_frontmatter_is_read_to_its_end(above: str, tmp_path: Path) -> None:
    remarks = "# a remark\n" * 900
    path = tmp_path / "SKILL.md"
    path.write_text(f"{above}---\nname: x\n{remarks}handoff:\n  accepts_from: ['*']\n---\nBody.\n")

    assert read_file(str(path)).values["handoff"] == {"accepts_from": ["*"]}


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
def test_valid_yaml_is_read_as_another_reader_reads_it(
    document: dict[str, Any], style: Mapping[str, Any], flow: bool
) -> None:
    text = yaml.safe_dump(document, allow_unicode=True, default_flow_style=flow, **style)

    front = read(f"---\n{text}---\n")

    assert front.values == document
    assert front.notes == ()


@given(
    st.binary(max_size=200)
    | st.text("ab:- \n\t'\"#|>[]{},&*!%@?~\x00\u2028\\ud83", max_size=80).map(str.encode)
)
@example(b"\x00:\x0b")
def test_any_bytes_give_values_or_a_problem(data: bytes) -> None:
    for text in (data, b"---\n" + data + b"\n---\n"):
        front = read(text)

        assert front.problem or isinstance(front.values, dict)
        assert all(1 <= line <= len(data) + 3 for line in front.lines.values())
