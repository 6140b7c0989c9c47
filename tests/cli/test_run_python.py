"""Every command works on what an approved workflow in Python is when it runs."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import allow, flow, home_skills, put_skill, told

BUILT = """\
from pathlib import Path
from flowrail import Outcome, StepDef, Workflow

Path("ran").touch()
NAMES = ["one", "two", "three"]
STEPS = [
    StepDef(name, name.title(), ["Do it."], next={Outcome.OK: after})
    for name, after in zip(NAMES, [*NAMES[1:], None])
]
WORKFLOW = Workflow("built", *STEPS, description="Built in a loop")
"""


def put_built(where: Path | None = None, text: str = BUILT, file: str = "workflow.py") -> Path:
    return put_skill("built", text, where=where, file=file)


def ran() -> bool:
    return Path("ran").exists()


COMMANDS = {
    "show built": ["built · 3 steps", "ok → 3"],
    "diagram built": ["2 · Two"],
    "check built": ["1 workflow checked, nothing found"],
    "test built": ["3 of 3", "1 passed"],
    "step built": ["Do it."],
    "list": ["3", "Built in a loop"],
}


@pytest.mark.parametrize("file", ["workflow.py", "scripts/built.py", "scripts/think.py"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_finds_and_loads_an_approved_workflow(command: str, file: str) -> None:
    put_built(text=BUILT, file=file)
    allow("built")

    answer = flow(*command.split())

    assert ran()
    assert answer.status == 0, answer.err
    assert all(text in answer.out for text in COMMANDS[command])


def test_a_skill_that_is_not_approved_is_listed_by_name_with_the_command_that_approves_it() -> None:
    put_built(file="scripts/built.py")
    put_skill("mine", BUILT.replace('"built"', '"mine"'), where=home_skills(), file="workflow.py")

    answer = told("list")
    row = next(line for line in flow("list").out.splitlines() if line.startswith("built"))

    items = {item["name"]: item for item in answer["skills"]}
    assert (items["built"]["total_steps"], items["mine"]["total_steps"]) == (0, 3)
    assert items["built"]["needs_approval"] == "a person runs: flow trust built"
    assert "not approved; a person runs: flow trust built" in row
    waiting = {checked["workflow"]: checked["needs_approval"] for checked in told("check")["workflows"]}
    assert waiting["built"] == "a person runs: flow trust built"
