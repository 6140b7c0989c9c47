"""A workflow changes under a running session: the consequences are shown, applied and recorded."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import (
    LOOP,
    LOOP_TEXTS,
    bytes_below,
    flow,
    home_skills,
    put_python,
    put_skill,
    refused,
    sessions_folder,
    told,
)

SECOND = "{id: second, title: Second, limit: 3, next: {ok: third, iterate: second}}"
RENAMED = LOOP.replace("ok: second", "ok: middle").replace(
    SECOND, "{id: middle, title: Second, limit: 3, next: {ok: third, iterate: middle}}"
)


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


def records(session: str) -> list[dict[str, Any]]:
    return list(told("history", session)["steps"])


def migrated(session: str, *words: str) -> dict[str, Any]:
    """Migrate a session and return what was done, with its step and its revision."""
    answer = told("session", "migrate", session, *words)
    return {
        **answer["migration"],
        "step": answer["step"]["id"] if answer["step"] else None,
        "revision": answer["revision"],
        "params": answer["params"],
        "next": answer["next"],
    }


def changes(plan: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["change"] for step in plan["steps"]}


# --- verdicts


def test_more_transitions_are_compatible_and_commands_stay_valid(session: str) -> None:
    command = told("resume", session)["next"][0]["command"].split()[1:]
    edited(LOOP.replace("iterate: second}", "iterate: second, fail: null}"))
    assert refused("resume", session)[1]["code"] == "DEFINITION_CHANGED"

    done = migrated(session)

    assert (done["verdict"], done["revision"], done["moves"]) == ("compatible", 2, False)
    assert [transition["outcome"] for transition in told("resume", session)["next"]] == [
        "ok",
        "fail",
        "iterate",
    ]
    assert told(*command)["step"]["id"] == "third"
    assert flow("session", "verify", session).status == 0


@pytest.mark.every_store
def test_a_renamed_step_is_mapped_and_everything_goes_by_its_new_name(session: str) -> None:
    command = told("resume", session)["next"][0]["command"].split()[1:]
    again = ["step", "loop", "iterate", "--session", session, "--expect", "1"]
    edited(RENAMED, middle="Do the middle.\n")
    status, error = refused("resume", session)
    assert error["hint"] == f"choose the new step: flow session migrate {session} --map second=STEP"

    done = migrated(session, "--map", "second=middle")

    assert (done["verdict"], done["at"], done["to"]) == ("renamed", "second", "middle")
    assert (done["revision"], done["step"]) == (2, "middle")
    answer = told("resume", session)
    assert (answer["step"]["id"], answer["step"]["attempt"], answer["actions"]) == (
        "middle",
        2,
        ["Do the middle."],
    )
    assert told(*again)["replayed"]
    assert told(*command)["step"]["id"] == "third"
    last = records(session)[-2]
    assert (last["kind"], last["note"]["renamed"]) == ("migrate", {"second": "middle"})
    assert flow("session", "verify", session).status == 0
    assert status == 5


def test_a_rename_that_is_plain_to_see_is_offered_and_taken_where_it_is_accepted(session: str) -> None:
    edited(RENAMED, middle="Do the middle.\n")
    before = bytes_below(sessions_folder(), but={"lock"})

    status, error = refused("session", "migrate", session)

    assert (status, error["code"]) == (5, "MIGRATION_NEEDS")
    assert error["message"] == f"session `{session}` needs a decision: `second` seems to have a new name"
    assert error["hint"] == f"flow session migrate {session} --map second=middle"
    assert bytes_below(sessions_folder(), but={"lock"}) == before
    assert migrated(session, "--accept")["step"] == "middle"
    assert records(session)[-1]["note"]["accepted"] is True


GONE = LOOP.replace(
    f"  - {SECOND}\n", "  - {id: other, title: Other, next: {ok: third, fail: null}}\n"
).replace("ok: second", "ok: other")


def test_a_step_that_is_gone_under_the_session_needs_to_be_named(session: str) -> None:
    edited(GONE, other="Do the other.\n")

    status, error = refused("session", "migrate", session, "--accept")

    assert (status, error["code"], error["details"]["verdict"]) == (5, "MIGRATION_NEEDS", "gone")
    assert error["message"].endswith("step `second` is gone")
    assert error["hint"] == f"flow session migrate {session} --map second=STEP"
    assert error["details"]["needs"] == ["map"]

    old = ["step", "loop", "ok", "--session", session, "--expect", "2"]
    done = migrated(session, "--map", "second=other")
    assert (done["verdict"], done["step"], done["revision"], done["moves"]) == ("changed", "other", 3, True)
    status, error = refused(*old)
    assert (status, error["code"]) == (4, "REVISION_CONFLICT")
    assert "; it was migrated at 20" in error["message"]
    assert told("step", "loop", "ok", "--session", session, "--expect", "3")["step"]["id"] == "third"
    assert flow("session", "verify", session).status == 0


# --- other transitions


CHANGED = LOOP.replace("limit: 3, next: {ok: third, iterate: second}", "next: {ok: third, fail: null}")


@pytest.mark.every_store
def test_other_transitions_must_be_accepted_and_commands_conflict(session: str) -> None:
    command = told("resume", session)["next"][0]["command"].split()[1:]
    edited(CHANGED)

    status, error = refused("session", "migrate", session)
    assert (status, error["hint"]) == (5, f"flow session migrate {session} --accept")
    assert error["message"].endswith("the transitions of step `second` have changed")
    assert flow("session", "migrate", session).out.splitlines()[0] == (
        f"{session} · revision 2 · at `second`: changed"
    )
    done = migrated(session, "--accept")

    assert (done["verdict"], done["revision"]) == ("changed", 3)
    assert refused(*command)[0] == 4
    assert told("resume", session)["step"]["attempt"] == 2
    assert told("step", "loop", "fail", "--session", session)["status"] == "failed"
    assert flow("session", "verify", session).status == 0


def test_a_plan_is_shown_and_nothing_is_done(session: str) -> None:
    edited(CHANGED, third="Do it otherwise.\n")
    before = bytes_below(sessions_folder(), but={"lock"})

    ran = flow("session", "migrate", session, "--plan")

    assert ran.status == 0
    assert ran.out == (
        f"{session} · revision 2 · at `second`: changed\n"
        "step    change     new id  details\n"
        "second  changed    second  `iterate` is gone; `fail` is new, to nothing; `limit` was `3`, is nothing\n"
        "third   text only  third\n"
        "1 step identical\n"
        "its transitions change: the revision is increased\n"
    )
    assert told("session", "migrate", session, "--plan")["needs"] == ["accept"]
    assert bytes_below(sessions_folder(), but={"lock"}) == before


# --- wrong arguments


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (["--map", "second=midle"], "BAD_MAP", "did you mean `middle`?"),
        (["--map", "secnd=middle"], "BAD_MAP", "did you mean `second`?"),
        (["--map", "first=middle"], "BAD_MAP", "only a removed step can be renamed"),
        (["--map", "second"], "USAGE", "write it as `--map OLD=NEW`"),
        (["--map", "=middle"], "USAGE", "write it as `--map OLD=NEW`"),
        (["--map", "second=middle", "--map", "second=third"], "USAGE", "set it once"),
    ],
)
def test_a_wrong_map_is_refused(session: str, words: list[str], code: str, hint: str) -> None:
    edited(RENAMED, middle="Do the middle.\n")

    status, error = refused("session", "migrate", session, *words)

    assert (status, error["code"], error["hint"]) == (2, code, hint)


# --- parameters


def test_a_new_parameter_that_is_required_has_to_be_given(session: str) -> None:
    edited(LOOP.replace("{topic:", "{size: {type: integer, required: true, example: 3}, topic:"))

    status, error = refused("session", "migrate", session)
    assert (status, error["details"]["needs"]) == (5, ["params"])
    assert "`size` is missing" in error["message"]
    assert "parameters: `size` is missing" in flow("session", "migrate", session, "--plan").out

    assert migrated(session, "-p", "size=4")["params"] == {"size": 4, "topic": "x"}
    assert told("resume", session)["params"] == {"size": 4, "topic": "x"}


# --- the stored definition and the location of the skill


def test_a_skill_that_moved_is_found_where_it_is_unless_it_is_gone(session: str, folder: Path) -> None:
    shutil.rmtree(folder)
    status, error = refused("session", "migrate", session)
    put_skill("loop", LOOP, texts=LOOP_TEXTS, where=home_skills())

    done = migrated(session)

    assert (status, error["code"], "nothing to migrate" in error["message"]) == (
        5,
        "DEFINITION_CHANGED",
        True,
    )
    assert (done["verdict"], done["changed"]) == ("identical", True)
    assert flow("resume", session).err == ""


def test_code_is_compared_by_its_place() -> None:
    folder = put_python("py", where=home_skills())
    session = told("step", "py")["session"]
    path = folder / "workflow.py"
    path.write_text(path.read_text().replace("Do it.", "Do it otherwise."))
    assert migrated(session)["verdict"] == "text only"

    path.write_text(path.read_text().replace("Outcome.FAIL: None", "Outcome.SKIP: None"))
    assert refused("session", "migrate", session)[1]["details"]["verdict"] == "changed"
    assert migrated(session, "--accept")["revision"] == 1
    assert told("step", "py", "done")["step"]["id"] == "second"
    assert flow("session", "verify", session).status == 0


def test_an_abandoned_session_is_migrated_wherever_it_stood(session: str) -> None:
    told("session", "abandon", session)
    edited(GONE, other="Do the other.\n")

    done = migrated(session)

    assert (done["changed"], done["revision"], done["next"]) == (True, 2, [])
    assert told("sessions", "--all")["sessions"][0]["status"] == "abandoned"
