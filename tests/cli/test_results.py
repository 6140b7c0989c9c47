"""The end of a session: what the agent gives the user, and where the result is shown for a day."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.hooks import A, B, claude_code, context, conversation, hook, within
from support.sandbox import flow, put_skill, refused, told

REPORTING = """\
name: NAME
params: {topic: {type: string, required: true, example: slow login}}
steps:
  - id: write
    title: Write
    actions: ["Write the report. Notes are in $notes."]
    reports: {report: {type: string, required: true, example: report.md}, parts: {type: list, example: [a.md]}}
    next: {ok: null, fail: null}
"""


@pytest.fixture
def session() -> str:
    put_skill("reporting", REPORTING)
    started: Any = within(A, "step", "reporting", "--new", "-p", "topic=slow login")
    work = Path(started["work_folder"])
    (work / "notes.md").write_text("notes\n")
    (work / "table.csv").write_text("a,b\n")
    return str(started["session"])


def finish(outcome: str = "ok") -> str:
    facts = ("-s", "report=report.md", "-s", 'parts=["docs/part.md"]')
    with conversation(A):
        return flow("step", "reporting", outcome, *facts).out


def test_the_last_answer_names_the_working_files(session: str) -> None:
    out = finish()

    assert "Finished. Give the user the result, if they do not have it yet." in out
    work = f".flow/sessions/{session}/work"
    assert "Working files: " in out
    assert f"{work}/notes.md (6 bytes)" in out
    assert f"{work}/table.csv (4 bytes)" in out
    assert "flow step" not in out


def test_for_a_day_the_result_is_shown_to_the_conversation_that_did_the_work(session: str) -> None:
    finish()

    for words in (["resume"], ["sessions", session]):
        with conversation(A):
            out = flow(*words).out
        assert session in out
        assert f"{session}/work/notes.md (6 bytes)" in out
    with conversation(B):
        assert refused("resume")[1]["code"] == "NO_OPEN_SESSION"
    text = context(hook("session-start", claude_code("session-start", A, source="compact")))
    assert '- "slow login" (reporting), finished just now.' in text
    assert f"run this and tell them: `flow resume {session} --store {Path.cwd() / '.flow'}`" in text
    assert hook("session-start", claude_code("session-start", B)) == {}
    assert hook("stop", claude_code("stop", A)) == {}


def test_a_briefing_names_the_notes() -> None:
    put_skill("reporting", REPORTING)
    started = told("step", "reporting", "--new", "-p", "topic=slow login")
    notes = f".flow/sessions/{started['session']}/work/notes.md"
    Path(notes).write_text("notes\n" * 1_000)

    assert f"Notes: {notes} (6 kB, changed " in flow("resume").out
