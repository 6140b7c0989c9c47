"""Old sessions are deleted; those that are still needed stay."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.sandbox import flow, put_skill, sessions_folder, told

from flowrail.operations.sessions.prune import DAY

AGENTS = """\
name: NAME
steps:
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, workflow: NAME/look, over: [a, b], join: any}
    next: {ok: tell}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""
LOOK = """\
name: NAME/look
steps: [{id: look, title: Look, actions: [Look.], next: {ok: null}}]
"""
SEND = ["handoff", "send", "solution-design", "--reason", "known", "-s", "problem_type=analytical"]
LATER, MUCH_LATER = 2.0, 40.0


@contextmanager
def after(days: float) -> Iterator[None]:
    """Let *days* have passed since everything that was done before."""
    with pytest.MonkeyPatch.context() as patch:
        clock = time.time
        patch.setattr(time, "time", lambda: clock() + days * DAY)
        yield


def ended(how: str = "completed") -> str:
    """Return a session that ended so."""
    session = str(told("step", "small", "--new")["session"])
    if how == "abandoned":
        told("session", "abandon", session)
    elif how == "failed":
        told("step", "small", "fail", "--session", session)
    else:
        told("step", "small", "ok", "--session", session)
        told("step", "small", "ok", "--session", session)
    return session


def stored_sessions() -> set[str]:
    return {path.name for path in sessions_folder().iterdir() if not path.name.startswith(".")}


def gone(*words: str) -> set[str]:
    found = told("session", "prune", *words)["sessions"]
    return {str(session["session"]) for session in found if not session["why"]}


def stays(*words: str) -> dict[str, str]:
    return {
        str(session["session"]): str(session["why"])
        for session in told("session", "prune", *words)["sessions"]
        if session["why"]
    }


@pytest.fixture(autouse=True)
def _skills() -> None:
    put_skill("small")
    put_skill("agents", AGENTS, texts={"workflows/look.yaml": LOOK})


@pytest.mark.every_store
def test_what_ended_long_ago_goes_and_what_is_open_or_young_stays() -> None:
    old = {ended("completed"), ended("failed"), ended("abandoned")}
    standing = told("step", "small", "--new")["session"]
    with after(MUCH_LATER):
        young = ended()

        assert gone() == old
        assert stored_sessions() == {standing, young}
        assert flow("audit", "--verify").status == 0


def test_a_child_stays_for_as_long_as_its_parent_is_open() -> None:
    parent = told("step", "agents")
    launch = parent["dispatches"][0]["command"].split()[1:]
    child = told(*launch)
    told(*child["next"][0]["command"].split()[1:])

    with after(MUCH_LATER):
        assert stays() == {child["session"]: f"its parent session `{parent['session']}` is open"}
        told("step", "agents", "ok", "--session", parent["session"])
        told("step", "agents", "ok", "--session", parent["session"])
        assert gone() == {child["session"]}  # the parent itself has ended just now
    with after(2 * MUCH_LATER):
        assert gone() == {parent["session"]}


def test_a_session_whose_handoff_is_on_its_way_stays_until_it_is_received() -> None:
    session = told("step", "problem-analysis", "--new", "-p", "topic=slow login")["session"]
    sent = told(*SEND, "--session", session)
    told("session", "abandon", session)

    with after(0.5):
        assert stays("--older-than", "0.1") == {session: "it has an open handoff"}
        told("handoff", "cancel", sent["id"])
        assert gone("--older-than", "0.1") == {session}


def test_a_session_that_cannot_be_read_or_is_foreign_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    session = ended()
    journal = sessions_folder() / session / "journal.jsonl"
    whole = journal.read_bytes()
    journal.write_bytes(whole[:-20] + b"x" * 19 + b"\n")

    with after(MUCH_LATER):
        assert stays()[session].startswith("it cannot be read: ")
        journal.write_bytes(whole)
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert stays() == {session: "you did not start it"}


def test_a_start_that_was_interrupted_goes_after_its_time_and_not_while_it_may_go_on() -> None:
    ended()
    folder = sessions_folder() / "small-zzzzzz"
    folder.mkdir(0o700)
    (folder / "journal.jsonl").write_bytes(b'{"seq":0')

    assert "small-zzzzzz" not in gone("--older-than", "0", "--dry-run")
    with after(LATER):
        assert "small-zzzzzz" in gone("--older-than", "1")
    assert "small-zzzzzz" not in stored_sessions()


def test_what_a_pruning_that_was_killed_had_moved_aside_is_deleted_by_the_next(tmp_path: Path) -> None:
    session = ended()
    aside = sessions_folder() / f".gone-{session}-01234567"
    shutil.move(sessions_folder() / session, aside)
    outside = tmp_path / "full"
    outside.mkdir()
    (sessions_folder() / ".gone-link").symlink_to(outside)

    assert told("sessions", "--all")["sessions"] == []
    assert gone() == set()
    assert not list(sessions_folder().glob(".gone-*"))
    assert outside.exists()


def test_a_link_among_the_sessions_is_not_followed(tmp_path: Path) -> None:
    session = ended()
    outside = tmp_path / "outside"
    shutil.copytree(sessions_folder() / session, outside)
    (outside / ".0123456789abcdef.tmp").touch()
    os.utime(outside / ".0123456789abcdef.tmp", (0, 0))
    (sessions_folder() / "small-zzzzzz").symlink_to(outside)

    with after(MUCH_LATER):
        assert "small-zzzzzz" in stays()

    assert sorted(path.name for path in outside.iterdir()) == [
        ".0123456789abcdef.tmp",
        *("journal.jsonl", "lock", "work"),
    ]


def test_a_child_that_lost_its_work_has_ended() -> None:
    parent = told("step", "agents")["session"]
    first = told("step", "--session", parent + ".0.1")["session"]
    told("step", "--session", parent, "--again", "1")
    second = told("step", "--session", parent + ".0.1-2")["session"]

    listed = {session["session"]: session for session in told("sessions")["sessions"]}
    assert {name: session["lost"] for name, session in listed.items()} == {
        parent: False,
        first: True,
        second: False,
    }
    assert (listed[first]["parent"], listed[first]["command"]) == (parent, None)
    assert flow("sessions").out.split("\n")[-2].strip() == "lost"
    with after(MUCH_LATER):
        assert stays() == {first: f"its parent session `{parent}` is open"}
        told("session", "abandon", parent)
    with after(2 * MUCH_LATER):
        assert gone() == {parent, first, second}
