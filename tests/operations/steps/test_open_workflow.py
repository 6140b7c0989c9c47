"""A session keeps the definition with which it started. Only code cannot be kept: if it changed, the session stops."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import (
    LOOP,
    LOOP_TEXTS,
    SMALL,
    allow,
    flow,
    home_skills,
    put_python,
    put_skill,
    refused,
    told,
)


@pytest.fixture
def folder() -> Path:
    return put_skill("loop", LOOP, texts=LOOP_TEXTS)


def at_second() -> dict[str, Any]:
    """Begin a session of `loop` and take it to its second step."""
    told("step", "loop")
    answer: dict[str, Any] = told("step", "loop", "ok")
    return answer


def edit(folder: Path, old: str, new: str) -> None:
    path = folder / "workflow.yaml"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def rename_second(folder: Path) -> None:
    edit(folder, "ok: second}", "ok: middle}")
    edit(folder, "id: second, title: Second", "id: middle, title: Second")
    edit(folder, "iterate: second}", "iterate: middle}")
    (folder / "steps" / "second.md").rename(folder / "steps" / "middle.md")


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "steps" / "second.md").write_text("Do it otherwise.\n"),
        lambda folder: edit(folder, "ok: third, iterate: second", "ok: third"),
        lambda folder: edit(folder, "limit: 3", "limit: 4"),
        lambda folder: edit(folder, "default: x", "default: y"),
        rename_second,
        lambda folder: (folder / "workflow.yaml").write_text("name: [loop\n"),
        lambda folder: (folder / "steps" / "third.md").unlink(),
        shutil.rmtree,
    ],
)
def test_a_changed_skill_does_not_affect_a_running_session(
    folder: Path, change: Callable[[Path], object]
) -> None:
    before = at_second()
    session = before["session"]
    change(folder)

    ran = flow("resume", session, "--json")

    assert (ran.status, ran.err) == (0, "")
    assert (ran.data["actions"], ran.data["next"]) == (before["actions"], before["next"])
    assert told("step", "loop", "iterate", "--session", session)["step"]["attempt"] == 2
    assert told("step", "loop", "ok", "--session", session)["actions"] == ["Do the third."]
    assert told("step", "loop", "ok", "--session", session)["status"] == "completed"


def test_a_new_session_gets_the_changed_skill(folder: Path) -> None:
    at_second()
    (folder / "steps" / "first.md").write_text("Begin otherwise.\n")

    assert told("step", "loop", "--new")["actions"] == ["Begin otherwise."]


def test_a_session_keeps_to_the_folder_that_it_was_begun_in() -> None:
    put_skill("small")
    before = told("step", "small")
    nearer = put_skill(
        "small", SMALL.replace("Do the first", "Do another"), where=Path.cwd() / "b/.claude/skills"
    )

    os.chdir(nearer.parents[2])

    assert told(*before["next"][0]["command"].split()[1:])["step"]["id"] == "second"


# --- code


def test_a_session_whose_code_changed_stops_until_it_is_migrated() -> None:
    path = put_python("py", where=home_skills()) / "workflow.py"
    session = told("step", "py")["session"]
    path.write_text(path.read_text().replace('"Do it."', '"Do it otherwise."'))

    for command in (["step", "py"], ["step", "py", "done"], ["resume", session]):
        status, error = refused(*command)
        assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
        assert error["message"] == f"the code of session `{session}` changed after the session started"
        assert error["hint"] == f"continue with the changed code: flow session migrate {session}"
    shown = flow("sessions", session, "--json")
    assert (shown.status, shown.data["history"][0]["kind"]) == (5, "start")
    assert shown.data["problem"]["code"] == "DEFINITION_CHANGED"

    told("session", "migrate", session)
    assert told("step", "py")["actions"] == ["Do it otherwise."]


def test_a_session_of_a_projects_code_that_is_gone_says_so() -> None:
    folder = put_python("py")
    allow("py")
    session = told("step", "py")["session"]
    folder.rename(folder.with_name("away"))

    status, error = refused("resume", session)

    assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
    assert error["message"] == (
        f"the skill's folder {folder} is missing, and session `{session}` runs code from it"
    )
    assert error["hint"] == f"restore it, or end the session: flow session abandon {session}"
    folder.with_name("away").rename(folder)
    assert told("resume", session)["session"] == session
    shutil.rmtree(folder)
    assert flow("session", "abandon", session).status == 0


def test_changed_code_of_a_project_runs_only_after_it_is_approved_again() -> None:
    path = put_python("py") / "workflow.py"
    allow("py")
    session = told("step", "py")["session"]
    path.write_text(path.read_text().replace('"Do it."', '"Do it otherwise."'))

    assert refused("session", "migrate", session)[0] == 7
    allow("py")
    assert told("session", "migrate", session)["actions"] == ["Do it otherwise."]
