"""`flow answer` takes the user's answers by id and prints the next command, for every kind of question."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from support.dispatching_skill import put_lead
from support.sandbox import flow, put_skill, refused, told

PLAN = """\
name: NAME
steps:
  - id: plan
    title: Plan
    actions: [Show the plan.]
    questions:
      - id: go
        header: Approve
        text: "Go on?"
        options: [{label: "Yes, all of it", outcome: ok}, {label: "No", outcome: fail}]
        other: skip
      - id: how
        header: How
        text: "With what?"
        multi: true
        options: [{label: Tests}, {label: Docs, description: "What users read"}]
    next: {ok: tell, fail: plan, skip: null}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""


@pytest.fixture
def begun() -> Any:
    put_skill("ask", PLAN)
    return told("step", "ask", "--new")


def test_an_answer_is_taken_as_it_is_printed() -> None:
    put_lead()
    child = told("step", "--session", told("step", "lead", "--new")["session"] + ".0.1")["session"]
    labels = ["Y\u200bes", "Yes", "葛\U000e0100"]
    asked = [{"id": "go", "header": "H", "text": "Go?", "options": [{"label": label} for label in labels]}]
    flow("ask", child, "-", stdin=json.dumps(asked).encode())
    lines = [line for line in flow("resume", child, "--format", "text").out.splitlines() if "go=" in line]

    chosen = [told(*shlex.split(line)[1:])["questions"][0]["answer"] for line in lines[-1:]]

    assert [shlex.split(line)[3] for line in lines] == ["go=Y⟨U+200B⟩es", "go=Yes", "go=葛⟨U+E0100⟩"]
    assert chosen == [["葛\U000e0100"]]


@pytest.mark.parametrize("form", ["xml", "text"])
def test_what_the_user_said_is_told_in_the_step_after(form: str) -> None:
    put_skill("said", PLAN.replace("skip: null", "skip: tell"))
    begun = told("step", "said", "--new")
    told(
        "answer",
        begun["session"],
        "go=other:shorter <b>, and with an example",
        "how=Docs",
        "how=Tests",
        "--reason",
        "so",
    )
    after = told("step", "said", "done")

    assert after["answers"] == [
        {
            "id": "go",
            "question": "Go on?",
            "answer": ["other:shorter <b>, and with an example"],
            "reason": "so",
            "way": "relayed",
        },
        {
            "id": "how",
            "question": "With what?",
            "answer": ["Docs", "Tests"],
            "reason": "so",
            "way": "relayed",
        },
    ]
    out = flow("resume", "--format", form).out
    assert "shorter <b>, and with an example" in out
    assert form == "text" or ET.fromstring(out).find(".//b") is None  # noqa: S314 - our own output
    assert told("resume")["answers"] == after["answers"]
    assert flow("audit", begun["session"], "--verify").status == 0


def test_an_answer_for_an_agent_prints_how_to_launch_it_afresh(tmp_path: Path) -> None:
    put_lead()
    begun = told("step", "lead", "--new")
    child = told("step", "--session", begun["session"] + ".0.1")["session"]
    questions = [
        {"id": name, "header": "H", "text": f"{name}?", "options": [{"label": "A"}, {"label": "B"}]}
        for name in ("one", "two")
    ]
    flow("ask", child, "-", stdin=json.dumps(questions).encode())
    assert {question["id"] for question in told("resume", begun["session"])["questions"]} == {"one", "two"}

    first = flow("answer", child, "two=A").out
    second = flow("answer", child, "one=other:neither").out

    assert first.startswith("Recorded. Still open: one.")
    lines = second.splitlines()
    assert len(lines) == 2
    command = f"flow step --session {child} --store {Path.cwd() / '.flow'}"
    assert lines[-1] == f"Run `{command}`, and do what it prints, step by step, to the end."
    again = told(*command.split()[1:])
    assert {question["id"]: question["answer"] for question in again["questions"]} == {
        "one": ["other:neither"],
        "two": ["A"],
    }
    assert told("resume", begun["session"])["questions"] == []


def test_the_name_of_a_skill_means_its_open_session(begun: Any) -> None:
    answered = told("answer", "ask", "go=Yes, all of it", "how=Tests")

    assert (answered["session"], answered["status"]) == (begun["session"], "active")
    assert refused("answer", "nosuch", "go=Yes")[1]["code"] == "UNKNOWN_SKILL"
