"""Tables of steps in Markdown."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st
from support.workflows import step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.markdown import cell, render
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.text.safe_text import hides


def drawn_table(definition: Workflow) -> str:
    return render(picture(definition))


def test_steps_are_numbered_and_transitions_name_the_numbers() -> None:
    asks = Question("go", "Approve", "Go?", (Option("Yes", outcome="ok"), Option("No", outcome="fail")))
    drawn = drawn_table(
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
        "| 1 | Look \\| around | first | ok → 2, iterate (at most 3 attempts, then ok) → 1 |",
        "| 2 | Ask (only when mode == 'full'; asks the user) |  | ok → 3, fail → end as failed |",
        "| 3 | Send (2 agents explore) |  | ok → 4 |",
        "| 4 | Judge (gate on send) |  | ok → end, any other (at most 5 attempts, then the user decides / ok) → 3 |",
    ]


@given(st.text())
def test_a_cell_is_one_line_and_ends_no_cell(text: str) -> None:
    shown = cell(text)

    assert "\n" not in shown
    assert not hides(shown)
    assert not re.search(r"(?<!\\)(\\\\)*\|", shown)
    assert len(shown) <= 2 * 400
