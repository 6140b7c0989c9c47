"""`flow session migrate` moves a session to the newest definition of its workflow."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.sandbox import LOOP, LOOP_TEXTS, flow, home_skills, put_skill, refused, told

SECOND = "{id: second, title: Second, limit: 3, next: {ok: third, iterate: second}}"
OTHER = LOOP.replace(
    f"  - {SECOND}\n", "  - {id: other, title: Other, next: {ok: third, fail: null}}\n"
).replace("ok: second", "ok: other")
CHANGED = LOOP.replace("limit: 3, next: {ok: third, iterate: second}", "next: {ok: third, fail: null}")


@pytest.fixture
def folder() -> Path:
    return put_skill("loop", LOOP, texts=LOOP_TEXTS)


@pytest.fixture
def session(folder: Path) -> str:
    """A session at `second`, visited twice."""
    del folder
    told("step", "loop")
    told("step", "loop", "ok")
    return str(told("step", "loop", "iterate")["session"])


def edited(text: str, **texts: str) -> None:
    """Write the skill again, with the name of each step as its text."""
    folder = put_skill("loop", text, texts={f"steps/{name}.md": content for name, content in texts.items()})
    for name in ("first", "second", "third"):
        path = folder / f"steps/{name}.md"
        if not path.exists():
            path.write_text(f"Do the {name}.\n")


def printed(session: str) -> list[str]:
    """Return the command that reports the first outcome of the current step."""
    return list(told("resume", session)["next"][0]["command"].split()[1:])


@pytest.mark.every_store
def test_a_migration_elsewhere_keeps_the_step_and_its_commands(session: str) -> None:
    command = printed(session)
    edited(LOOP.replace("title: Third", "title: The end"), second="Do it otherwise.\n")

    ran = flow("session", "migrate", session, "--json")

    assert ran.err == (
        f"flow: {session} migrated: `second`: its texts are different; `third`: its texts are different\n"
    )
    assert (ran.data["revision"], ran.data["step"]["attempt"]) == (2, 2)
    assert ran.data["actions"] == ["Do it otherwise."]
    record = told("sessions", session)["history"][-1]
    assert (record["kind"], len(record["note"]["changes"])) == ("migrate", 2)
    assert told(*command)["step"]["title"] == "The end"
    assert flow("audit", "--verify", session).status == 0


@pytest.mark.every_store
def test_a_changed_step_starts_again_and_commands_printed_before_are_refused(session: str) -> None:
    command = printed(session)
    edited(CHANGED)

    done = told("session", "migrate", session)

    assert (done["revision"], done["step"]["attempt"]) == (3, 2)
    status, error = refused(*command)
    assert (status, error["code"]) == (4, "REVISION_CONFLICT")
    assert told("step", "loop", "fail", "--session", session)["status"] == "failed"


def test_the_new_step_is_named_if_the_current_one_is_gone(session: str) -> None:
    edited(OTHER, other="Do the other.\n")

    status, error = refused("session", "migrate", session)
    assert (status, error["code"]) == (5, "DEFINITION_CHANGED")
    assert error["hint"] == f"name the new step: flow session migrate {session} --to STEP"
    status, error = refused("session", "migrate", session, "--to", "xother")
    assert (status, error["hint"]) == (2, "did you mean `other`?")

    done = told("session", "migrate", session, "--to", "other")

    assert (done["step"]["id"], done["step"]["attempt"], done["revision"]) == ("other", 1, 3)
    assert told("step", "loop", "ok", "--session", session)["step"]["id"] == "third"


def test_a_new_parameter_that_is_required_has_to_be_given(session: str) -> None:
    edited(LOOP.replace("{topic:", "{size: {type: integer, required: true, example: 3}, topic:"))

    status, error = refused("session", "migrate", session)
    assert (status, "`size` is missing" in error["message"]) == (2, True)

    assert told("session", "migrate", session, "-p", "size=4")["params"] == {"size": 4, "topic": "x"}


def test_a_skill_that_moved_is_found_by_its_name(session: str, folder: Path) -> None:
    shutil.rmtree(folder)
    status, error = refused("session", "migrate", session)
    put_skill("loop", LOOP, texts=LOOP_TEXTS, where=home_skills())

    assert (status, "no workflow to migrate to" in error["message"]) == (5, True)
    assert flow("session", "migrate", session).err == f"flow: {session} migrated\n"
