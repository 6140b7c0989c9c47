"""A session continues with its stored definition; a changed skill is reported, or stops it."""

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
    bytes_below,
    flow,
    home_skills,
    put_python,
    put_skill,
    refused,
    sessions_folder,
    told,
)

from flowrail.cli.environment import SessionCall
from flowrail.operations.running.session_files import open_session


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


def test_changed_texts_are_shown_and_nothing_else_changes(folder: Path) -> None:
    before = at_second()
    (folder / "steps" / "second.md").write_text("Do it otherwise.\n")
    edit(folder, "title: Second", "title: Another title, phase: late")

    ran = flow("step", "loop", "--json")

    assert ran.err == ""
    assert ran.data["actions"] == ["Do it otherwise."]
    assert (ran.data["step"]["title"], ran.data["step"]["phase"]) == ("Another title", "late")
    assert (ran.data["revision"], ran.data["next"]) == (before["revision"], before["next"])


ELSEWHERE = [
    (
        "{id: third, title: Third, next: {ok: null}}",
        "{id: third, title: Third, next: {ok: null, fail: null}}",
    ),
    (
        "{id: first, title: First, next: {ok: second}}",
        "{id: first, title: First, next: {ok: second, skip: third}}",
    ),
    ("default: x", "default: y"),
]


@pytest.mark.parametrize(("old", "new"), ELSEWHERE)
def test_a_change_elsewhere_is_reported_and_the_session_continues(folder: Path, old: str, new: str) -> None:
    at_second()
    edit(folder, old, new)

    ran = flow("step", "loop", "ok", "--json")

    assert ran.data["step"]["id"] == "third"
    assert ran.err == (
        "flow: the workflow `loop` changed elsewhere; this step and its transitions are the same\n"
    )
    assert flow("step", "loop").err == ""
    outcomes = [transition["outcome"] for transition in told("step", "loop")["next"]]
    assert outcomes == (["ok", "fail"] if "fail: null" in new else ["ok"])


def rename_second(folder: Path) -> None:
    edit(folder, "ok: second}", "ok: middle}")
    edit(folder, "id: second, title: Second", "id: middle, title: Second")
    edit(folder, "iterate: second}", "iterate: middle}")
    (folder / "steps" / "second.md").rename(folder / "steps" / "middle.md")


def test_a_step_that_is_gone_stops_the_session(folder: Path) -> None:
    session = at_second()["session"]
    rename_second(folder)
    before = bytes_below(sessions_folder(), but={"lock"})

    for command in (["step", "loop"], ["step", "loop", "ok"], ["resume"], ["status", session]):
        status, error = refused(*command)
        assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
        assert (
            error["message"]
            == f"the workflow no longer has step `second`, the current step of session `{session}`"
        )
        assert error["hint"] == f"choose the new step: flow session migrate {session} --map second=STEP"
        assert error["details"]["gone"] == ["second"]
        assert error["details"]["steps"] == ["first", "middle", "third"]

    assert bytes_below(sessions_folder(), but={"lock"}) == before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ok: third, iterate: second", "ok: third"),
        ("ok: third, iterate: second", "ok: third, iterate: first"),
        ("ok: third, iterate: second", "ok: third, iterate: second, fail: null"),
        ("limit: 3", "limit: 4"),
        ("limit: 3", "limit: 3, reports: {sure: {type: boolean}}"),
    ],
)
def test_other_transitions_stop_the_session(folder: Path, old: str, new: str) -> None:
    session = at_second()["session"]
    edit(folder, old, new)

    status, error = refused("step", "loop", "ok")

    assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
    assert error["message"] == (
        f"the transitions of step `second`, the current step of session `{session}`, have changed"
    )
    assert error["hint"] == f"see the changes: flow session migrate {session} --plan"


def test_a_session_of_a_deleted_skill_continues_from_its_copy(folder: Path) -> None:
    session = at_second()["session"]
    shutil.rmtree(folder)

    ran = flow("step", "loop", "ok", "--session", session, "--json")

    assert ran.data["step"]["id"] == "third"
    assert ran.data["actions"] == ["Do the third."]
    assert ran.err == f"flow: the skill's folder {folder} is missing; the session continues from its copy\n"
    assert told("step", "loop", "ok", "--session", session)["status"] == "completed"
    assert flow("step", "loop").status == 2  # (a new one cannot be begun)


def test_a_session_of_a_projects_code_that_is_gone_says_so() -> None:
    folder = put_python("py")
    allow("py")
    session = told("step", "py")["session"]
    folder.rename(folder.with_name("away"))

    status, error = refused("resume", session)

    assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
    assert (
        error["message"]
        == f"the skill's folder {folder} is missing, and session `{session}` runs code from it"
    )
    assert error["hint"] == f"restore the folder, or end the session: flow session abandon {session}"
    folder.with_name("away").rename(folder)
    assert told("resume", session)["session"] == session
    shutil.rmtree(folder)
    assert flow("session", "abandon", session).status == 0


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: (folder / "workflow.yaml").write_text("name: [loop\n"),
        lambda folder: edit(folder, "ok: third", "ok: nowhere"),
        lambda folder: (folder / "steps" / "third.md").unlink(),
        lambda folder: (folder / "workflow.yaml").unlink(),
    ],
)
def test_a_skill_that_was_spoilt_stops_the_session(folder: Path, spoil: Callable[[Path], None]) -> None:
    session = at_second()["session"]
    spoil(folder)

    status, error = refused("step", "loop", "ok", "--session", session)

    assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
    assert session in error["message"]
    assert flow("history", session).status == 0
    assert flow("session", "abandon", session).status == 0


# --- Python -------------------------------------------------------------------------------------


def test_python_with_functions_is_run_each_time_and_its_change_judged() -> None:
    path = put_python("py", where=home_skills()) / "workflow.py"
    told("step", "py")

    path.write_text(path.read_text().replace('"Do it."', '"Do it otherwise."'))
    assert told("step", "py")["actions"] == ["Do it otherwise."]

    path.write_text(path.read_text().replace("Outcome.FAIL: None", "Outcome.SKIP: None"))
    status, error = refused("step", "py", "done")
    assert (status, error["code"]) == (5, "DEFINITION_CHANGED")


def test_a_yaml_skill_that_comes_to_hide_ones_own_needs_trust_only_when_it_changes() -> None:
    folder = put_skill("small")
    told("step", "small")
    put_skill("small", where=home_skills())

    assert told("step", "small")["resumed"]
    (folder / "workflow.yaml").write_text((folder / "workflow.yaml").read_text() + "# changed\n")
    assert refused("step", "small", "ok")[0] == 7
    allow("small")
    assert told("step", "small", "ok")["step"]["id"] == "second"


def test_a_session_keeps_to_the_folder_that_it_was_begun_in() -> None:
    put_skill("small")
    before = told("step", "small")
    nearer = put_skill(
        "small", SMALL.replace("Do the first", "Do another"), where=Path.cwd() / "b/.claude/skills"
    )

    os.chdir(nearer.parents[2])

    assert told(*before["next"][0]["command"].split()[1:])["step"]["id"] == "second"


def test_a_session_without_its_place_among_the_roots_is_still_judged() -> None:
    folder = put_skill("small", where=Path.cwd() / "more")
    told("step", "small", "--root", "more")
    world = SessionCall().environment
    (path,) = sessions_folder().iterdir()
    stored = world.store.read(path.name)
    (folder / "workflow.yaml").write_text((folder / "workflow.yaml").read_text() + "# changed\n")

    opened = open_session(world, stored.session)

    assert opened.changed
    assert told("step", "small", "ok")["source"] == "extra"
