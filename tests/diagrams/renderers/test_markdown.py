"""Tables of steps in Markdown."""

from __future__ import annotations

from support.workflows import step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers.markdown import render
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow


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
