"""`flow ask`: questions are read strictly, asked once, and printed as the agent's whole answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.dispatching_skill import put_lead
from support.sandbox import flow, told

BLOCK = """\
<needs_user_input>
<question id="db" header="Store" multi="false">
<text>Which one &amp; why?</text>
<option label="Redis">Fast</option>
<option label="Postgres">A server</option>
</question>
</needs_user_input>
"""
JSON = json.dumps(
    {
        "questions": [
            {
                "id": "db",
                "header": "Store",
                "text": "Which one & why?",
                "options": [
                    {"label": "Redis", "description": "Fast"},
                    {"label": "Postgres", "description": "A server"},
                ],
            }
        ]
    }
)


@pytest.fixture
def child() -> Any:
    put_lead()
    begun = told("step", "lead", "--new")
    return told("step", "--session", begun["session"] + ".0.1")


@pytest.mark.parametrize("text", [BLOCK, JSON], ids=["block", "json"])
@pytest.mark.parametrize("where", ["file", "stdin"])
def test_questions_are_put_and_the_block_to_return_is_printed(child: Any, text: str, where: str) -> None:
    Path("q").write_text(text)
    store = Path.cwd() / ".flow"

    if where == "file":
        out = flow("ask", child["session"], "q").out
    else:
        out = flow("ask", child["session"], "-", stdin=text.encode()).out

    answer = f'answer="flow answer {child["session"]} db=OPTION --store {store}"'
    assert out == BLOCK.replace("<needs_user_input>", f"<needs_user_input {answer}>")
    assert told("resume", child["session"])["status"] == "waiting"


def test_the_main_agent_is_asked_to_put_its_questions_to_the_user_in_a_block_that_can_be_read_back() -> None:
    put_lead()
    session = told("step", "lead", "--new")["session"]

    out = flow("ask", session, "-", stdin=BLOCK.encode()).out

    comment = out.splitlines()[1]
    assert comment.startswith("<!-- Ask the user these questions")
    assert "other:TEXT for the user's own words" in comment
    assert flow("ask", session, "-", stdin=out.encode()).out == out


def test_a_question_without_options_is_typed_as_json_and_answered_in_free_text(child: Any) -> None:
    out = flow("ask", child["session"], '{"question": "Which store?"}').out

    assert f'answer="flow answer {child["session"]} q1=TEXT' in out
    assert "<text>Which store?</text>\n</question>" in out
    shown = flow("resume", child["session"], "--format", "text").out
    assert "Which store?" in shown
    answered = told("answer", child["session"], "q1=a folder on the server")
    assert answered["questions"][0]["answer"] == ["other:a folder on the server"]


@pytest.mark.parametrize(
    ("typed", "problem"),
    [
        (
            '{"options": ["Redis"]}',
            "question 1, text is missing",
        ),
        ("Which store?", "neither a needs_user_input block nor JSON"),
    ],
)
def test_a_wrong_question_is_refused_in_one_line(child: Any, typed: str, problem: str) -> None:
    ran = flow("ask", child["session"], typed)

    assert ran.status == 2
    assert ran.err.splitlines()[0] == f"flow: the questions: {problem} [BAD_QUESTIONS]"
