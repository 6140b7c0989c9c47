"""Fences in a step's Markdown: those that can be blocks become them, all else stays as it is."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.formatters.blocks import instructions
from flowrail.formatters.blocks.fences import KNOWN_FENCES, fence_problems, with_blocks
from flowrail.formatters.blocks.step import format_current_action
from flowrail.text.placeholders import fill
from flowrail.text.safe_text import Markup


def resources(name: str) -> str:
    """Return a text for any name."""
    return f"The text of {name}."


def fence(name: str, *lines: str, mark: str = "```") -> str:
    """Return a fence of that name around *lines*."""
    return "\n".join([f"{mark}flow:{name}", *lines, mark])


def blocks_in(text: str) -> list[str]:
    """Return only the blocks of *text*."""
    return [each for each in with_blocks(text, resources) if isinstance(each, Markup)]


def problems(text: str) -> list[str]:
    """Return what is wrong with the fences of *text*, each with its line."""
    return [f"{line} {name}: {message}" for line, name, message in fence_problems(text)]


# --- what becomes of a fence


@pytest.mark.parametrize("name", sorted({*KNOWN_FENCES} - {"resource"}))
def test_a_fence_becomes_the_same_as_a_call(name: str) -> None:
    text = f"Before.\n\n{fence(name, '- One & two', '- Three', '  and four')}\n\nAfter."

    made = getattr(instructions, f"format_{name}")(["One & two", "Three\nand four"])

    assert with_blocks(text, resources) == ["Before.\n", made, "\nAfter."]
    assert problems(text) == []


def test_a_resource_is_quoted_for_each_name() -> None:
    text = fence("resource", "severity", "", "- temporal")

    assert blocks_in(text) == [
        instructions.format_resource(name, f"The text of {name}.") for name in ("severity", "temporal")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "~~~flow:forbidden\n- a\n~~~",
        "````flow:forbidden\n- a\n`````",
        "  ```  flow:forbidden  \n  - a\n   ```  ",
        "```flow:forbidden\r\n- a\r\n```\r",
    ],
)
def test_a_fence_is_written_as_markdown_has_it(text: str) -> None:
    assert blocks_in(text) == [instructions.format_forbidden(["a"])]


# --- what stays text


@pytest.mark.parametrize(
    "text",
    [
        "```\nflow:forbidden\n```",
        "    ```flow:forbidden\n    - a\n    ```",
        "> ```flow:forbidden\n> - a\n> ```",
        "```flow:forbidden`\n- a\n```",
        "``flow:forbidden\n- a\n``",
        f"````markdown\n{fence('forbidden', '- a')}\n````",
        f"~~~\n{fence('forbidden', '- a')}\n~~~",
        f"```markdown\n{fence('forbidden', '- a')}",
    ],
)
def test_what_is_no_fence_of_ours_is_text_and_no_problem(text: str) -> None:
    told = with_blocks(text, resources)

    assert told == [text]
    assert problems(text) == []


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (fence("forbiden", "- a"), "1 forbiden: unknown block `forbiden`"),
        (fence("forbidden", "", mark="````"), "1 forbidden: the fence is empty"),
        ("```flow:forbidden\n- a", "1 forbidden: the fence is not closed"),
    ],
)
def test_a_fence_that_cannot_be_a_block_is_text_and_a_problem(text: str, problem: str) -> None:
    assert with_blocks(fill(text, {}), resources) == [fill(text, {})]
    assert problems(text) == [problem]


def test_problems_have_their_lines() -> None:
    text = "\n".join(["One", fence("forbidden", "- a"), "", fence("nope"), "x", fence("forbidden")])

    assert [(each.line, each.name) for each in fence_problems(text)] == [(6, "nope"), (9, "forbidden")]


# --- values

FILLED = """\
Before $a.
```flow:forbidden
- $a
- last
```
$a
After."""


@given(
    st.lists(st.sampled_from(["```", "~~~", "````", "\n", "flow:", "- ", "a: b", " ", "x", "\r"]), max_size=9)
)
def test_no_value_opens_or_closes_a_block_or_adds_to_it(parts: list[str]) -> None:
    value = "".join(parts)
    told = with_blocks(fill(FILLED, {"a": value + "."}), resources)

    made = [ET.fromstring(each) for each in told if isinstance(each, Markup)]  # noqa: S314 - our own output
    assert [each.tag for each in made] == ["forbidden"]
    assert [action.text for action in made[0]][1:] == ["last"]
    assert "After." in told[-1]


MARKS = [
    "```",
    "````",
    "~~~",
    "```flow:forbidden",
    "~~~flow:expected_output",
    "```flow:nope",
    "```flow:resource",
]
LINES = st.sampled_from([*MARKS, "  ```", "- a", "  b", "a: b", "", "\r", "<&>", "]]>"])
TEXTS = st.lists(LINES | st.text(max_size=5), max_size=12).map("\n".join)


@given(TEXTS)
def test_any_text_comes_out_as_text_and_well_formed_blocks(text: str) -> None:
    told = with_blocks(text, resources)

    assert ET.fromstring(format_current_action(told)) is not None  # noqa: S314 - our own output
    plain = "\n".join(each for each in told if not isinstance(each, Markup))
    assert set(plain.split("\n")) <= {*text.split("\n"), ""}
    if not any(isinstance(each, Markup) for each in told):
        assert "\n".join(told) == text
