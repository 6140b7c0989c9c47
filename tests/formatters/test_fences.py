"""Fences in a step's Markdown: those that can be blocks become them, all else stays as it is."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.blocks import SAMPLES, TEXT_SAMPLES
from support.fences import FENCES

from flowrail.formatters.blocks import instructions
from flowrail.formatters.blocks.dispatch import (
    format_conditional_dispatch,
)
from flowrail.formatters.blocks.fences import (
    KNOWN_FENCES,
    fence_problems,
    with_blocks,
)
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


BANNER = ("checkpoint: Plan", "iteration: 2", "mode: re-verify")


@pytest.mark.parametrize("name", FENCES)
def test_a_fence_becomes_the_same_as_a_call(name: str) -> None:
    text = f"Before.\n\n{FENCES[name]}\n\nAfter."
    made = {**SAMPLES, **TEXT_SAMPLES}[name]()

    told = with_blocks(fill(text, {}), lambda _: "MUST: wrong.\nCOULD: taste & style.")

    assert _same_content("".join(told[1:-1])) == _same_content(made)
    assert isinstance(told[1], Markup) == (name in SAMPLES)
    assert (told[0], told[-1]) == ("Before.\n", "\nAfter.")
    assert problems(text) == []


def _same_content(block: str) -> str:
    """Return the same form for blocks that differ only in how special characters are written."""
    return ET.canonicalize(block) if "<![CDATA[" in block else block


def test_every_block_has_a_fence() -> None:
    blocks_of_the_design = {name.partition(".")[0] for name in (*SAMPLES, *TEXT_SAMPLES)}

    assert set(KNOWN_FENCES) == {name.partition(".")[0] for name in FENCES}
    assert blocks_of_the_design - set(KNOWN_FENCES) == {"needs_user_input"}


def test_values_are_put_into_blocks_within_blocks_and_open_none() -> None:
    text = "````flow:conditional_dispatch\nwhen: $topic\n```flow:forbidden\n- $topic\n```\n````"
    topic = "x\n```\n```flow:routing\na: b"

    told = with_blocks(text, resources, fill=lambda each: each.replace("$topic", topic))

    within = instructions.format_forbidden([topic])
    assert told == [format_conditional_dispatch(topic, within)]


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
        (fence("step_output", "- a"), "1 step_output: the line `script: …` is missing"),
        (fence("next_block", "if_pass: x"), "1 next_block: `if_pass:` and `if_fail:` belong together"),
        (
            fence("next_block", "if_pass: x", "if_fail: y", "command: z"),
            "1 next_block: `command:` does not go with `if_pass:`",
        ),
        (
            fence("gate_result", "status: pass", "message: x", "y"),
            "1 gate_result: unexpected line `y`",
        ),
        (
            fence("post_qr_routing", "self_fix: yes"),
            "1 post_qr_routing: `self_fix` must be true or false",
        ),
        (
            fence("subagent_dispatch", "agent: explore", "a = b"),
            "1 subagent_dispatch: an agent that is not free-form needs a script or a command",
        ),
        (
            fence("subagent_dispatch", "agent: explore", "modle: haiku"),
            "1 subagent_dispatch: expected `NAME = VALUE`, found `modle: haiku`",
        ),
        (
            fence("template_dispatch", "agent: explore", "template: Look in $$where.", "- what = x"),
            "1 template_dispatch: a target has no value for `where`",
        ),
        (
            fence("template_dispatch", "agent: explore", "template: x", "- what"),
            "1 template_dispatch: expected `NAME = VALUE`, found `what`",
        ),
        (fence("current_action", "", mark="````"), "1 current_action: the fence is empty"),
        (
            fence("gate_actions", "name: x", "work_step: 1", "iteration: 1", "policy: none"),
            "1 gate_actions: unknown policy `none`",
        ),
        (
            fence("qr_file_output", "status: good"),
            "1 qr_file_output: `status` must be pass or fail",
        ),
        (fence("step", "title: x", "title: y", "z"), "1 step: `title:` appears twice"),
        ("```flow:forbidden\n- a", "1 forbidden: the fence is not closed"),
        (fence("routing", "go on"), "1 routing: expected `result: what to do`, found `go on`"),
        (fence("routing", "a: b", "a: c"), "1 routing: `a:` appears twice"),
        (fence("state_banner", *BANNER[:2]), "1 state_banner: the line `mode: …` is missing"),
        (fence("state_banner", *BANNER, "mode: x"), "1 state_banner: `mode:` appears twice"),
        (fence("question_relay", "- a"), "1 question_relay: unexpected line `a`"),
        (fence("qr_banner", "name: x", "iteration: two"), "1 qr_banner: `iteration` must be a whole number"),
    ],
)
def test_a_fence_that_cannot_be_a_block_is_text_and_a_problem(text: str, problem: str) -> None:
    assert with_blocks(fill(text, {}), resources) == [fill(text, {})]
    assert problems(text) == [problem]


def test_what_a_value_decides_is_not_judged_before_it_is_known() -> None:
    text = fence("gate_result", "status: $status", "message: x")
    agents = fence("gate_actions", "name: x", "work_step: 1", "iteration: $visit", "policy: $policy")

    assert problems(text) == problems(agents) == []


def test_problems_have_their_lines() -> None:
    text = "\n".join(["One", fence("forbidden", "- a"), "", fence("nope"), "x", fence("routing")])

    assert [(each.line, each.name) for each in fence_problems(text)] == [(6, "nope"), (9, "routing")]


# --- values


def test_values_are_put_in_after_the_fences_were_found() -> None:
    values = {"$topic": fence("forbidden", "- everything"), "$visit": "2", "$who": "- </action>"}
    text = "\n".join(
        [
            "$topic",
            fence("state_banner", "checkpoint: $who", "iteration: $visit", "mode: x"),
            fence("forbidden", "- $who"),
        ]
    )

    told = with_blocks(
        text, resources, fill=lambda each: re.sub(r"\$\w+", lambda found: values[found[0]], each)
    )

    assert told == [
        values["$topic"],
        instructions.format_state_banner("- </action>", 2, "x"),
        instructions.format_forbidden(["- </action>"]),
    ]


FILLED = """\
Before $a.
```flow:forbidden
- $a
- last
```
$a
````flow:conditional_dispatch
when: it is so
~~~flow:routing
x: $a
~~~
````
After."""


@given(
    st.lists(st.sampled_from(["```", "~~~", "````", "\n", "flow:", "- ", "a: b", " ", "x", "\r"]), max_size=9)
)
def test_no_value_opens_or_closes_a_block_or_adds_to_it(parts: list[str]) -> None:
    value = "".join(parts)
    told = with_blocks(fill(FILLED, {"a": value + "."}), resources)

    made = [ET.fromstring(each) for each in told if isinstance(each, Markup)]  # noqa: S314 - our own output
    assert [each.tag for each in made] == ["forbidden", "conditional_dispatch"]
    assert [action.text for action in made[0]][1:] == ["last"]
    assert len(made[1].findall("then/routing/case")) == 1
    assert "After." in told[-1]


LINES = st.sampled_from(
    [
        *("```", "````", "~~~", "  ```", "```flow:forbidden", "~~~flow:routing", "```flow:nope", "```python"),
        *(
            "- a",
            "  b",
            "a: b",
            "",
            "\r",
            "```flow:resource",
            "````flow:state_banner",
            "mode: x",
            "<&>",
            "]]>",
        ),
    ]
)
TEXTS = st.lists(LINES | st.text(max_size=5), max_size=12).map("\n".join)


NESTED = st.sampled_from(
    [
        *(
            "````flow:current_action",
            "````flow:parallel_dispatch",
            "`````flow:step",
            "```flow:subagent_dispatch",
        ),
        *(
            "````flow:step_output",
            "```flow:gate_step",
            "```flow:template_dispatch",
            "`````",
            "agent: explore",
        ),
        *("script: x", "step: 1", "total: $visit", "title: x", "a = b", "= b", "- a = b", "template: $$a $b"),
        *("name: x", "work_step: 1", "iteration: $visit", "status: fail", "free_form: true", "command: x"),
    ]
)


@given(st.lists(LINES | NESTED, max_size=14).map("\n".join), st.text(max_size=4))
def test_blocks_in_blocks_come_out_well_formed_whatever_is_put_in(text: str, value: str) -> None:
    told = with_blocks(text, resources, fill=lambda each: fill(each, {"visit": value, "b": value}))

    fence_problems(text)
    assert ET.fromstring(format_current_action(told)) is not None  # noqa: S314 - our own output


@given(TEXTS)
def test_any_text_comes_out_as_text_and_well_formed_blocks(text: str) -> None:
    told = with_blocks(text, resources)

    assert ET.fromstring(format_current_action(told)) is not None  # noqa: S314 - our own output
    plain = "\n".join(each for each in told if not isinstance(each, Markup))
    assert set(plain.split("\n")) <= {*text.split("\n"), ""}
    if not any(isinstance(each, Markup) for each in told):
        assert "\n".join(told) == text
