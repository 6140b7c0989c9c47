"""Workflows that are only known after their Python has run are shown, checked and tested with ``--run``."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import allow, flow, home_skills, put_skill, refused

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


def put_built(where: Path | None = None, text: str = BUILT) -> Path:
    return put_skill("built", text, where=where, file="workflow.py")


def ran() -> bool:
    return Path("ran").exists()


COMMANDS = {
    "list": ["3", "Built in a loop"],
    "show built": ["built · 3 steps", "ok → three"],
    "check built": ["1 workflow checked, nothing found"],
    "test built": ["3 of 3", "1 passed"],
}


@pytest.mark.parametrize("command", COMMANDS)
def test_with_run_a_command_loads_the_real_workflow(command: str) -> None:
    put_built()
    allow("built")

    answer = flow(*command.split(), "--run")

    assert ran()
    assert answer.status == 0, answer.err
    assert all(text in answer.out for text in COMMANDS[command])


@pytest.mark.parametrize("command", [*COMMANDS][:-1])
def test_without_run_a_command_says_that_parts_are_missing(command: str) -> None:
    put_built()
    allow("built")

    answer = flow(*command.split())

    assert not ran()
    assert "--run" in answer.out + answer.err


@pytest.mark.parametrize("command", [*COMMANDS][1:-1])
def test_code_that_is_not_approved_does_not_run(command: str) -> None:
    put_built()

    status, error = refused(*command.split(), "--run")

    assert (status, error["code"]) == (7, "NOT_TRUSTED")
    assert not ran()


def test_a_list_names_the_skills_that_did_not_run() -> None:
    put_built()
    put_skill("mine", BUILT.replace('"built"', '"mine"'), where=home_skills(), file="workflow.py")

    answer = flow("list", "--run", "--json")

    counts = {item["name"]: item["total_steps"] for item in answer.data["skills"]}
    assert (counts["built"], counts["mine"]) == (0, 3)
    assert "`built` was not run" in answer.err


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (BUILT.replace("next=", "nxt="), "FR130", "did you mean `next`?"),
        (BUILT.replace('["one", "two"', '["one", "o n"'), "FR107", "`o n` is not a valid id"),
        (BUILT.replace("WORKFLOW =", "1 / 0  #"), "FR100", "workflow.py raised ZeroDivisionError"),
        (BUILT.replace("*STEPS,", "STEPS,"), "FR130", "put `*` before the list"),
    ],
)
def test_mistakes_in_a_file_that_is_run_are_findings_with_their_line(
    text: str, code: str, words: str
) -> None:
    folder = put_built(home_skills(), text)

    answer = flow("check", str(folder), "--run")

    line = next(line for line in answer.out.splitlines() if code in line)
    assert answer.status == 1
    assert words in answer.out
    assert line.startswith(f"{folder}/workflow.py")
