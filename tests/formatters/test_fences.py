"""Fences in a step's Markdown become blocks if they can; everything else stays text."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.formatters.blocks import instructions
from flowrail.formatters.blocks.fences import KNOWN_FENCES, fence_problems, with_blocks
from flowrail.formatters.blocks.script_step import format_current_action
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
    return [piece for piece in with_blocks(text, resources) if isinstance(piece, Markup)]


def problems(text: str) -> list[str]:
    """Return the problems of the fences of *text*, with their lines."""
    return [f"{line} {name}: {message}" for line, name, message in fence_problems(text)]


# --- fences that become blocks


@pytest.mark.parametrize("name", sorted({*KNOWN_FENCES} - {"resource"}))
def test_a_fence_becomes_the_block_of_its_function(name: str) -> None:
    text = f"Before.\n\n{fence(name, '- One & two', '- Three', '  and four')}\n\nAfter."

    expected = getattr(instructions, f"format_{name}")(["One & two", "Three\nand four"])

    assert with_blocks(text, resources) == ["Before.\n", expected, "\nAfter."]
    assert problems(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "~~~flow:forbidden\n- a\n~~~",
        "````flow:forbidden\n- a\n`````",
        "  ```  flow:forbidden  \n  - a\n   ```  ",
        "```flow:forbidden\r\n- a\r\n```\r",
    ],
)
def test_a_fence_follows_the_rules_of_markdown(text: str) -> None:
    assert blocks_in(text) == [instructions.format_forbidden(["a"])]


# --- fences that stay text


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
def test_other_fences_are_text_and_no_problem(text: str) -> None:
    pieces = with_blocks(text, resources)

    assert pieces == [text]
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
    pieces = with_blocks(fill(FILLED, {"a": value + "."}), resources)

    blocks = [ET.fromstring(element) for element in pieces if isinstance(element, Markup)]  # noqa: S314 - our own output
    assert [element.tag for element in blocks] == ["forbidden"]
    assert [action.text for action in blocks[0]][1:] == ["last"]
    assert "After." in pieces[-1]


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
    pieces = with_blocks(text, resources)

    assert ET.fromstring(format_current_action(pieces)) is not None  # noqa: S314 - our own output
    plain = "\n".join(piece for piece in pieces if not isinstance(piece, Markup))
    assert set(plain.split("\n")) <= {*text.split("\n"), ""}
    if not any(isinstance(piece, Markup) for piece in pieces):
        assert "\n".join(pieces) == text
