"""How much of a claim was checked, wherever a session is shown."""

from __future__ import annotations

from support.evidence import demand, report, write
from support.hooks import A, claude_code, hook, within
from support.sandbox import flow, told

PLAN = {"id": "plan", "file": "plan.md"}
NOTES = {"id": "notes", "file": "notes.md"}


def session_with_a_refused_and_an_accepted_claim() -> str:
    demand(PLAN, NOTES, {"id": "tests", "run": ["pytest"]})
    session = str(within(A, "start", "built")["session"])
    write("notes.md", "notes")
    report(session)
    write("plan.md", "plan")
    response = {"stdout": "", "stderr": "", "interrupted": False}
    hook(
        "post-tool-use",
        claude_code("post-tool-use", A, tool_input={"command": "pytest"}, tool_response=response),
    )
    assert report(session) == {}
    return session


def test_history_status_audit_and_diagrams_show_what_was_checked() -> None:
    session = session_with_a_refused_and_an_accepted_claim()

    history = flow("history", session).out
    status = flow("status", session).out
    audit = flow("audit", session).out
    drawn = flow("diagram", "built", "--session", session).out

    assert "claimed ok, 1 of 3 checked: lacks plan, tests" in history
    assert "ok (2 of 3 checked, 1 observed)" in history
    assert "claimed ok of build: 2 of 3 checked, 1 observed" in status
    assert "claimed ok, 1 of 3 checked: lacks plan, tests" in audit
    assert "2 of 3 checked, 1 observed" in audit
    assert "claimed ok, 2 of 3 checked, 1 observed" in drawn


def test_coverage_lists_the_checks_that_never_refused_anything() -> None:
    session_with_a_refused_and_an_accepted_claim()

    life = told("skill", "coverage", "built", "--sessions")
    text = flow("skill", "coverage", "built", "--sessions").out

    assert life["never_refused"] == ["build notes"]
    assert "checks that never refused a report: build notes" in text
