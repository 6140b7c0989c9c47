"""Tables of steps and of skills, and the marked blocks of pages."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.golden import in_golden_block
from support.workflows import step, unchecked, workflow

from flowrail.diagrams.renderers.markdown import cell, skills_table, steps_table
from flowrail.machines.definition.step_parts import Dispatch, GateConfig, Option, Question
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.skills.summary import items
from flowrail.text.safe_text import hides

ROOT = Path(__file__).parents[3]


def test_steps_are_numbered_and_transitions_name_the_numbers() -> None:
    asks = Question("go", "Approve", "Go?", (Option("Yes", outcome="ok"), Option("No", outcome="fail")))
    drawn = steps_table(
        workflow(
            step(
                "look", title="Look | around", phase="first", limit=3, next={"ok": "ask", "iterate": "look"}
            ),
            step("ask", questions=[asks], when="mode == 'full'", next={"ok": "send", "fail": None}),
            step(
                "send",
                dispatch=Dispatch("explore", over=("a", "b"), prompt=("$item",)),
                next={"ok": "judge"},
            ),
            step(
                "judge",
                dispatch=None,
                gate=GateConfig("Judge", review="send"),
                next={"ok": None, "_default": "send"},
            ),
            params={"mode": Arg(default="full")},
        )
    )

    assert drawn.splitlines() == [
        "| # | Step | Phase | Transitions |",
        "| --- | --- | --- | --- |",
        "| 1 | Look \\| around (at most 3 times) | first | ok → 2, iterate → 1 |",
        "| 2 | Ask (when `mode == 'full'`; asks the user) |  | done: ok → 3, fail → end |",
        "| 3 | Send (agents: explore) |  | ok → 4 |",
        "| 4 | Judge (gate; at most 5 times) |  | done: ok → end, any other → 3 |",
    ]


def test_an_error_in_a_workflow_is_shown() -> None:
    drawn = steps_table(
        Workflow("broken", step("one", next={"ok": "nowhere"}, when=lambda _: True), validate=False)
    )

    assert drawn.endswith("| 1 | One (when computed) | ok → nowhere? |")


def test_the_table_of_skills_in_the_readme_is_the_generated_one() -> None:
    assert in_golden_block(ROOT / "README.md", "skills", skills_table(items(())))


@given(st.text())
def test_a_cell_is_one_line_and_ends_no_cell(text: str) -> None:
    shown = cell(text)

    assert "\n" not in shown
    assert not hides(shown)
    assert not re.search(r"(?<!\\)(\\\\)*\|", shown)
    assert len(shown) <= 2 * 400


@pytest.mark.parametrize(
    "condition", ["x` <img onerror=1>", "x\n<!-- /flow:steps -->\n<script>", "a <!-- /flow:steps -->"]
)
def test_a_condition_ends_neither_its_code_nor_its_block(condition: str) -> None:
    drawn = steps_table(unchecked(step("a", when=condition, next={"ok": None})))

    assert not re.search(r"(?<!\\)<(?:img|script|!--)", drawn)  # escaped or absent
    assert not re.search(r"(?<!\\)`", drawn) or "`" not in condition
    assert len(drawn.splitlines()) == 3
