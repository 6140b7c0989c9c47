"""Blocks are well-formed for any content and escaped once."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowrail
from flowrail import formatters
from flowrail.machines.dispatch import AgentRole
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.script_steps import BranchCommand, FlatCommand, QRState
from flowrail.machines.severities import POLICIES
from flowrail.text.safe_text import Markup, one_line, visible

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "blocks.md"


def tree(text: str) -> ET.Element:
    """Return a block, or a text, as an XML parser reads it."""
    return ET.fromstring(f"<all>{text}</all>".encode())  # noqa: S314 - our own output


# --- any input

MARKS = "]]> <![CDATA[ <!-- --> <?x ?> &amp; & < > \" ' </forbidden> $name ${x} %s {0} ```flow:forbidden é \U0001f600"
HIDDEN = "\x00|\x1b[2J|\ud800|\ufffe|\u202e|\u200b|\r|\r\n|\n|\t|\x85|\u2028|<!DOCTYPE x [<!ENTITY y 'z'>]>"
NASTY = st.sampled_from([*MARKS.split(" "), *HIDDEN.split("|")])
TEXTS = st.lists(NASTY | st.text(st.characters(exclude_categories=()), max_size=6), max_size=5).map("".join)
FILLED = TEXTS.filter(bool)
LISTS = st.lists(TEXTS, max_size=3)
MAPPINGS = st.dictionaries(TEXTS, TEXTS, max_size=3)
NUMBERS = st.integers(1, 12)
STATES = st.builds(QRState, NUMBERS, st.booleans(), st.sampled_from([None, "pass", "fail"]))
ROLES = st.sampled_from(AgentRole)
VALUES: Mapping[str, st.SearchStrategy[Any]] = {
    "str": TEXTS,
    "int": NUMBERS,
    "bool": st.booleans(),
    "int | str": NUMBERS | TEXTS,
    "str | None": st.none() | TEXTS,
    "int | None": st.none() | NUMBERS,
    "Sequence[str]": LISTS,
    "Mapping[str, str]": MAPPINGS,
    "Mapping[str, object] | None": st.none() | MAPPINGS,
    "AgentRole | str": ROLES | TEXTS,
    "AgentRole | str | None": st.none() | ROLES | TEXTS,
    "QRState": STATES,
    "QRState | None": st.none() | STATES,
    "QRStatus | str": TEXTS,
    "tuple[QRStatus | str, str] | None": st.none() | st.tuples(TEXTS, TEXTS),
    "policy": st.sampled_from(list(POLICIES)),
    "GateConfig": st.builds(
        GateConfig, TEXTS, NUMBERS, st.none() | NUMBERS, TEXTS, st.booleans(), st.none() | ROLES
    ),
    "NextCommand": st.none() | st.builds(FlatCommand, TEXTS) | st.builds(BranchCommand, TEXTS, TEXTS),
}
"""Random values for each type or name of a formatter's parameter."""


def blocks_of(formatter: str) -> st.SearchStrategy[Any]:
    """Return a strategy for the blocks that a formatter makes from random arguments."""
    function = getattr(formatters, formatter)
    parameters = inspect.signature(function).parameters
    keys = {name: name if name in VALUES else parameter.annotation for name, parameter in parameters.items()}
    return st.builds(function, **{name: VALUES[key] for name, key in keys.items()})


BLOCKS = sorted(
    name
    for name in formatters.__all__
    if inspect.signature(getattr(formatters, name)).return_annotation == "Markup"
)


@pytest.mark.parametrize("name", BLOCKS)
@settings(max_examples=25)
@given(data=st.data())
def test_a_block_of_any_content_is_well_formed_and_hides_nothing(name: str, data: st.DataObject) -> None:
    try:
        markup = data.draw(blocks_of(name))
    except ValueError:
        assert name == "format_subagent_dispatch"  # with nothing to run
        return

    assert isinstance(markup, Markup)
    assert visible(markup) == markup
    assert "\x1b" not in "".join(tree(markup).itertext())


@settings(max_examples=30)
@given(data=st.data(), texts=LISTS)
def test_joined_blocks_stay_markup_and_texts_stay_escaped(data: st.DataObject, texts: list[str]) -> None:
    blocks = [
        data.draw(blocks_of(name)) for name in data.draw(st.lists(st.sampled_from(BLOCKS[:5]), max_size=3))
    ]

    action = formatters.format_current_action([*texts, *blocks])

    tree(action)
    assert all(block in action for block in blocks)
    texts_only = tree(formatters.format_current_action(texts))
    assert "".join(texts_only.itertext()).strip("\n") == "\n".join(map(visible, texts)).strip("\n")


@given(TEXTS, FILLED, NUMBERS, STATES)
def test_text_forms_hide_nothing_and_commands_are_one_line(
    first: str, second: str, step: int, qr: QRState
) -> None:
    text = formatters.format_text_output(step, 12, first, [first, second], second, first)
    command = formatters.format_invoke_command(first, step, 12, qr=qr)

    assert visible(text) == text
    assert visible(formatters.format_step(first, second, second)).startswith(one_line(second))
    assert visible(command) == command
    assert "\n" not in command


def test_a_block_that_was_cut_or_joined_is_a_plain_string_again() -> None:
    inner = formatters.format_forbidden(["x"])

    for changed in (inner + "", inner[:], f" {inner}", inner.replace("x", "y"), f"{inner}\n{inner}"):
        assert not isinstance(changed, Markup)


def test_an_agent_without_anything_to_run_must_be_free_form() -> None:
    with pytest.raises(ValueError, match="a script or a command"):
        formatters.format_subagent_dispatch("explore")

    dispatch = formatters.format_subagent_dispatch("explore", "look.py", free_form=True)

    assert "invoke" not in {child.tag for child in tree(dispatch)[0]}


@pytest.mark.parametrize(
    ("iteration", "severities"),
    [(1, "MUST, SHOULD, COULD"), (2, "MUST, SHOULD, COULD"), (3, "MUST, SHOULD"), (5, "MUST")],
)
def test_a_failed_gate_names_the_severities_that_block_in_its_round(iteration: int, severities: str) -> None:
    gate = GateConfig("Plan Review", 1, 4, "The plan holds.")

    step = formatters.format_gate_step("gate.py", 3, 4, "Gate", QRState(iteration, status="fail"), gate)

    assert f"The gate does not pass. Severities that block in this round: {severities}." in step


def test_the_reference_page_shows_every_block() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [name for name in flowrail.formatters.__all__ if f"{name}(" not in text] == []
