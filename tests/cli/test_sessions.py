"""Commands about sessions: start, sessions, resume, abandon."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.sandbox import ASKING, flow, put_skill, refused, sessions_folder, told


@pytest.fixture(autouse=True)
def skills() -> None:
    put_skill("small")
    put_skill("asking", ASKING)


def test_sessions_that_cannot_be_read_or_are_foreign_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    broken, fine = told("step", "small", "--new")["session"], told("step", "asking", "--new")["session"]
    (sessions_folder() / broken / "journal.jsonl").write_text("\x1b[31mnonsense\n")
    shutil.copytree(Path.cwd() / ".flow", Path.cwd() / "copy")
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd() / "another"))

    listed = {item["session"]: item for item in told("sessions")["sessions"]}

    assert listed[fine]["status"] == "foreign"
    assert listed[broken]["code"] == "JOURNAL_DAMAGED"
    assert "not as it was written" in listed[broken]["reason"]
    text = flow("sessions").out
    assert f"{fine}  foreign" in text
    assert "not as it was written" in text


# --- damaged ones -------------------------------------------------------------------------------


def spoilt(session: str) -> None:
    journal = sessions_folder() / session / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-9] + b'deadbe"}\n')


def test_a_damaged_session_that_may_be_the_open_one_is_told_with_the_ways_around_it() -> None:
    put_skill("small")
    old = told("step", "small")["session"]
    told("step", "small", "ok")
    spoilt(old)

    status, error = refused("step", "small")

    assert (status, error["code"], error["details"]["session"]) == (3, "JOURNAL_DAMAGED", old)
    assert (
        f"see the readable part: flow sessions {old}; start another session: flow step small --new"
        in error["hint"]
    )
    assert told("step", "small", "--new")["revision"] == 0


def test_of_a_damaged_session_history_tells_what_comes_before_the_damage() -> None:
    put_skill("small")
    session = told("step", "small")["session"]
    told("step", "small", "ok")
    spoilt(session)

    ran = flow("sessions", session, "--json")
    text = flow("sessions", session)

    assert (ran.status, text.status) == (3, 3)
    assert [step["revision"] for step in ran.data["history"]] == [0]
    assert ran.data["problem"]["code"] == "JOURNAL_DAMAGED"
    assert ran.data["problem"]["hint"].endswith(
        f"continue from what is shown above: flow session rewind {session} --to 0 --as-new"
    )
    assert "[JOURNAL_DAMAGED]" in text.out
    new = told("session", "rewind", session, "--to", "0", "--as-new")
    assert (new["revision"], new["step"]["id"]) == (0, "first")


def test_a_folder_that_is_gone_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = Path.cwd() / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()

    status, error = refused("sessions")

    assert (status, error["message"]) == (2, "the current folder is gone")


def test_a_report_that_was_recorded_before_says_which_note_is_not_recorded() -> None:
    put_skill("small")
    session = told("step", "small")["session"]
    report = ["step", "small", "ok", "--session", session, "--expect", "0"]
    told(*report, "--note", "the first cause")

    again = flow(*report, "--note", "the first cause", "--json")
    other = flow(*report, "--note", "another cause", "--json")

    assert (again.status, again.data["replayed"], again.err) == (0, True, "")
    assert (other.status, other.data["replayed"]) == (0, True)
    assert "this report was recorded before, without your note: another cause" in other.err
    assert told("sessions", session)["history"][-1]["text"] == "the first cause"


def test_an_empty_home_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "")

    assert "HOME is empty" in flow("sessions").err
