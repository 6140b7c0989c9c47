"""Walks find what is wrong with a handler: they vary what it reads, and go round its loop often enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import flow, home_skills, put_skill

FILE = """\
from flowrail import Arg, Outcome, StepDef, Workflow
LEVELS = ("low", "high")

def decide(ctx):
    BODY

WORKFLOW = Workflow(
    "NAME",
    StepDef("look", "Look", ["Look."], decide, next={"ok": "tell", "iterate": "look"}),
    StepDef("tell", "Tell", ["Tell."], next={"ok": None}),
    params={"mode": Arg(choices=("quick", "full"), default="full")},
)
"""
ATTEMPTS = """attempt = ctx.step_state.get("attempt", 1)
    if attempt == 4:
        raise RuntimeError("the fourth")
    done = ctx.workflow_params.get("sure") == LEVELS[1]
    return (Outcome.OK if done else Outcome.ITERATE), {"attempt": attempt + 1}"""
VISITS = """if ctx.visit == 4:
        raise RuntimeError("the fourth")
    return Outcome.OK if ctx.workflow_params.get("sure") == "high" else Outcome.ITERATE"""


def put(body: str) -> Path:
    text = FILE.replace("NAME", "loop").replace("BODY", body)
    return put_skill("loop", text, where=home_skills(), file="workflow.py") / "workflow.py"


@pytest.mark.parametrize(
    ("body", "problem", "reports"),
    [
        (
            'return Outcome.SKIP if ctx.workflow_params["mode"] == "quick" else Outcome.OK',
            "step `look` does not accept `skip`",
            1,
        ),
        ("return 1 / 0", "`decide` raised ZeroDivisionError: division by zero (FILE:5)", 1),
        (ATTEMPTS, "`decide` raised RuntimeError: the fourth (FILE:7)", 4),
        (VISITS, "`decide` raised RuntimeError: the fourth (FILE:6)", 4),
    ],
    ids=["an outcome in one mode", "always raises", "raises on attempt 4", "raises on visit 4"],
)
def test_a_handler_that_fails_is_found_with_its_line(body: str, problem: str, reports: int) -> None:
    file = put(body)

    answer = flow("test", "loop")

    assert answer.status == 1
    assert problem.replace("FILE", str(file)) in answer.out
    assert answer.out.count("flow step loop done") == reports
