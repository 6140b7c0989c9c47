"""The prompt of a dispatch, as its agent reads it."""

from __future__ import annotations

import pytest
from support.golden import as_in_golden_file

from flowrail.command import Command
from flowrail.formatters.guidance.work import assignment_text, assignment_xml
from flowrail.machines.engine.questions import SUB_AGENT_QUESTION_FORMAT
from flowrail.machines.guidance.views import Assignment
from flowrail.machines.sessions.session import Dispatched

WORK = Dispatched(
    "d2-1", "quality-reviewer", item="auth", model="opus", expires_at="2026-11-18T13:00:00.000Z"
)
HANDED = Assignment(
    session="review-4k2m9a",
    dispatch=WORK,
    prompt="Is a < b && c > d in auth?\n\n```flow:forbidden\n- Editing auth\n```",
    finish=(
        Command("finish", "review-4k2m9a", "d2-1", "ok", token="7kq2m9xw4r3p"),
        Command("finish", "review-4k2m9a", "d2-1", "fail", token="7kq2m9xw4r3p"),
    ),
    ask=Command("ask", "review-4k2m9a", "-", token="7kq2m9xw4r3p"),
    answered=(("Which parts?", "Code; other:the <tests>"),),
    finding=Command("finding add", "review-4k2m9a", token="7kq2m9xw4r3p"),
)


@pytest.mark.parametrize(("name", "form"), [("handed.xml", assignment_xml), ("handed.txt", assignment_text)])
def test_prompted_work_looks_as_in_its_golden_file(name: str, form: object) -> None:
    shown = form(HANDED)  # type: ignore[operator]

    assert as_in_golden_file(name, shown.replace(str(SUB_AGENT_QUESTION_FORMAT), "(how to ask)"))
