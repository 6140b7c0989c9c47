"""Blocks are well-formed for any content, escaped once, and the same every time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowrail.formatters
from flowrail.formatters.blocks import dispatch, instructions, plain_text, review
from flowrail.formatters.blocks import (
    step as block_step,
)
from flowrail.machines.definition.script_steps import BranchCommand, FlatCommand, QRState
from flowrail.machines.definition.step_parts import POLICIES, AgentRole, GateConfig
from flowrail.machines.guidance.question_relay import Option, Question, as_xml
from flowrail.text.safe_text import Markup, one_line, visible

T = TypeVar("T")

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "blocks.md"


def tree(text: str) -> ET.Element:
    """Return what an XML parser makes of a block; text alone is taken as well."""
    return ET.fromstring(f"<all>{text}</all>".encode())  # noqa: S314 - our own output


def words(text: str) -> str:
    """Return the characters that an XML parser sees in a block."""
    return "".join(tree(text).itertext())


# --- any input

NASTY = st.sampled_from(
    [
        *("]]>", "<![CDATA[", "<!--", "-->", "<?x ?>", "&amp;", "&", "<", ">", '"', "'", "</forbidden>"),
        *(
            "\x00",
            "\x1b[2J",
            "\ud800",
            "\ufffe",
            "\u202e",
            "\u200b",
            "\r",
            "\r\n",
            "\n",
            "\t",
            "\x85",
            "\u2028",
        ),
        *(
            "$name",
            "${x}",
            "%s",
            "{0}",
            "```flow:forbidden",
            "<!DOCTYPE x [<!ENTITY y 'z'>]>",
            "é",
            "\U0001f600",
        ),
    ]
)
TEXTS = st.lists(NASTY | st.text(st.characters(exclude_categories=()), max_size=6), max_size=5).map("".join)
FILLED = TEXTS.filter(bool)
LISTS = st.lists(TEXTS, max_size=3)
MAPPINGS = st.dictionaries(TEXTS, TEXTS, max_size=3)
NUMBERS = st.integers(1, 12)
STATES = st.builds(QRState, NUMBERS, st.booleans(), st.sampled_from([None, "pass", "fail"]))
GATES = st.builds(
    GateConfig,
    TEXTS,
    NUMBERS,
    st.none() | NUMBERS,
    TEXTS,
    st.booleans(),
    st.none() | st.sampled_from(AgentRole),
)
COMMANDS = st.none() | st.builds(FlatCommand, TEXTS) | st.builds(BranchCommand, TEXTS, TEXTS)
PHASES = st.none() | TEXTS
ROUNDS = {"limit": NUMBERS, "policy": st.sampled_from(list(POLICIES.values()))}
QUESTIONS = st.builds(Question, TEXTS, TEXTS, TEXTS, st.lists(st.builds(Option, TEXTS, TEXTS), max_size=2))


def calls(function: Callable[..., T], *arguments: Any, **named: Any) -> st.SearchStrategy[T]:
    """Return what a formatter makes of arguments at random."""
    return st.builds(function, *arguments, **named)


def _template(names: list[str], values: list[str], rest: str) -> str:
    template = rest.replace("$", "") + "".join(f" ${name} " for name in names)
    targets = [dict.fromkeys(names, value) for value in values]
    return dispatch.format_template_dispatch("explore", template, targets, commands=values, model=rest)


def _roster(tasks: Mapping[str, str], shared: str, join: str) -> str:
    commands = list(tasks.values())
    return dispatch.format_roster_dispatch(shared, shared, tasks, commands=commands, join=join)


VALUE_NAMES = st.lists(st.from_regex(r"[a-z][a-z0-9_]{0,5}", fullmatch=True), max_size=2)

MADE: Mapping[str, st.SearchStrategy[str]] = {
    "step_header": calls(block_step.format_step_header, TEXTS, NUMBERS, NUMBERS, TEXTS, PHASES),
    "current_action": calls(block_step.format_current_action, LISTS),
    "invoke_after": calls(block_step.format_invoke_after, COMMANDS),
    "next_block": calls(block_step.format_next_block, COMMANDS),
    "gate_result": calls(block_step.format_gate_result, TEXTS, TEXTS),
    "step_output": calls(
        block_step.format_step_output,
        *(TEXTS, NUMBERS, NUMBERS, TEXTS, LISTS, COMMANDS, PHASES),
        gate_result=st.none() | st.tuples(TEXTS, TEXTS),
        mandate=st.booleans(),
    ),
    "subagent_dispatch": calls(
        dispatch.format_subagent_dispatch,
        *(TEXTS, FILLED, NUMBERS, st.none() | NUMBERS, st.none() | MAPPINGS),
        free_form=st.booleans(),
        command=TEXTS,
        model=PHASES,
    ),
    "model_selection": calls(dispatch.format_model_selection, TEXTS, TEXTS),
    "parallel_dispatch": calls(dispatch.format_parallel_dispatch, LISTS, TEXTS),
    "template_dispatch": calls(_template, VALUE_NAMES, LISTS, TEXTS),
    "roster_dispatch": calls(_roster, MAPPINGS, TEXTS, TEXTS),
    "conditional_dispatch": calls(dispatch.format_conditional_dispatch, TEXTS, TEXTS, TEXTS),
    "state_banner": calls(
        instructions.format_state_banner, TEXTS, NUMBERS | TEXTS, TEXTS, LISTS, limit=NUMBERS
    ),
    "qr_banner": calls(review.format_qr_banner, STATES, TEXTS, fresh_review=st.booleans()),
    "expected_output": calls(instructions.format_expected_output, LISTS),
    "forbidden": calls(instructions.format_forbidden, LISTS),
    "routing": calls(instructions.format_routing, MAPPINGS),
    "post_qr_routing": calls(
        review.format_post_qr_routing, self_fix=st.booleans(), fix_target=st.none() | TEXTS
    ),
    "resource": calls(instructions.format_resource, TEXTS, TEXTS, PHASES),
    "detection_questions": calls(instructions.format_detection_questions, LISTS, PHASES),
    "verification_checklist": calls(instructions.format_verification_checklist, LISTS, PHASES),
    "incorrect_behavior": calls(instructions.format_incorrect_behavior, LISTS, TEXTS),
    "gate_actions": calls(review.format_gate_actions, STATES, GATES, **ROUNDS).map("\n".join),
    "gate_step": calls(
        review.format_gate_step,
        *(TEXTS, NUMBERS, NUMBERS, TEXTS, STATES, GATES, PHASES),
        **ROUNDS,
    ),
    "qr_file_output": calls(review.format_qr_file_output, st.booleans(), PHASES, TEXTS),
    "needs_user_input": calls(as_xml, st.lists(QUESTIONS, max_size=2)),
}


@pytest.mark.parametrize("name", [each for each in MADE if each != "gate_actions"])
@settings(max_examples=25)
@given(data=st.data())
def test_whatever_goes_in_comes_out_well_formed_with_nothing_hidden(name: str, data: st.DataObject) -> None:
    made = data.draw(MADE[name])

    seen = words(made)

    assert isinstance(made, Markup)
    assert visible(made) == made
    assert "\x1b" not in seen


@settings(max_examples=30)
@given(actions=st.lists(st.one_of(TEXTS, *MADE.values()), max_size=4))
def test_what_is_put_together_is_well_formed_too(actions: list[str]) -> None:
    made = block_step.format_current_action(actions)

    tree(made)
    for each in actions:
        if isinstance(each, Markup):
            assert each in made


@given(TEXTS)
def test_a_plain_string_is_read_back_as_it_was_but_for_what_is_hidden(text: str) -> None:
    assert words(block_step.format_current_action([text])) == f"\n{visible(text)}\n"


@given(st.tuples(TEXTS, FILLED), NUMBERS, STATES)
def test_text_forms_hide_nothing_and_commands_are_one_line(
    texts: tuple[str, str], step: int, qr: QRState
) -> None:
    first, second = texts

    told = plain_text.format_text_output(step, 12, first, [first, second], second, first)
    command = plain_text.format_invoke_command(first, step, 12, qr=qr)

    assert visible(told) == told
    assert visible(plain_text.format_step(first, second, second)).startswith(one_line(second))
    assert visible(command) == command
    assert "\n" not in command


# --- once


def test_a_block_that_was_cut_or_joined_is_a_plain_string_again() -> None:
    inner = instructions.format_forbidden(["x"])

    for changed in (inner + "", inner[:], f" {inner}", inner.replace("x", "y"), f"{inner}\n{inner}"):
        assert not isinstance(changed, Markup)


# --- what a block refuses, and what it leaves out


def test_an_agent_without_anything_to_run_must_be_free_form() -> None:
    with pytest.raises(ValueError, match="a script or a command"):
        dispatch.format_subagent_dispatch("explore")

    free = dispatch.format_subagent_dispatch("explore", "look.py", free_form=True)

    assert "invoke" not in {child.tag for child in tree(free)[0]}


# --- gates


@pytest.mark.parametrize(
    ("iteration", "severities"),
    [
        (1, "MUST, SHOULD, COULD"),
        (2, "MUST, SHOULD, COULD"),
        (3, "MUST, SHOULD"),
        (4, "MUST, SHOULD"),
        (5, "MUST"),
    ],
)
def test_a_failed_gate_names_the_severities_that_block_in_its_round(iteration: int, severities: str) -> None:
    gate = GateConfig("Plan Review", 1, 4, "The plan holds.")

    actions = review.format_gate_actions(QRState(iteration, status="fail"), gate)

    assert actions[1].startswith(f"Findings that block in round {iteration}: {severities}.")
    assert ("do not block" in actions[1]) == (iteration > 2)


def test_the_reference_page_shows_every_block() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert [name for name in dir(flowrail.formatters) if f"{name}(" not in text] == []
