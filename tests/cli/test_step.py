"""The main verb: show the step, take the report, print what comes next."""

from __future__ import annotations

import shlex
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from support.sandbox import (
    ASKING,
    bytes_below,
    flow,
    put_skill,
    refused,
    sessions_folder,
    told,
)


@pytest.fixture(autouse=True)
def skills() -> None:
    put_skill("small")
    put_skill("asking", ASKING)


# --- showing ------------------------------------------------------------------------------------


def test_a_step_shown_again_begins_with_a_briefing() -> None:
    session = told("step", "asking", "-p", "topic=login")["session"]
    facts = ("-s", "sure=low", "-s", 'where=["src"]')
    told("step", "asking", "done", *facts, "--note", "the pool is too small")

    again = told("step", "asking")
    root = ET.fromstring(flow("resume", session).out)  # noqa: S314 - our own output
    text = flow("step", "asking", "--format", "text").out

    briefing = (
        "You are continuing. Parameters: topic=login, size=3. Started just now, last report just now. "
        "Done so far: look (iterate; the pool is too small)."
    )
    assert again["resumed"] is True
    assert again["briefing"] == briefing
    assert next(iter(root)).tag == "briefing"
    assert root.findtext("briefing") == briefing
    assert briefing in text
    assert "--new" not in text


def test_parameters_of_an_open_session_are_fixed() -> None:
    session = told("step", "asking", "-p", "topic=login")["session"]

    status, error = refused("step", "asking", "-p", "topic=another one", "-p", "size=2")

    assert (status, error["code"]) == (2, "USAGE")
    described = '("login", step `look`, active just now)'
    assert error["message"] == f"session `{session}` of `asking` is open with other parameters {described}"
    resume, begin = error["hint"].split("; or start another session: ")
    assert resume == f"continue it: flow resume {session}"
    assert begin == "flow step asking --new -p 'topic=another one' -p size=2"
    assert told(*shlex.split(begin)[1:])["params"] == {"topic": "another one", "size": 2}


# --- reporting ----------------------------------------------------------------------------------


def _ids() -> list[str]:
    return [folder.name for folder in sessions_folder().iterdir()]


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["-s", "sur=high", "-s", "where=a"],
            "step `look`: `sur` is not known (did you mean `sure`?); `sure` is missing",
            "report `sure=low|high`, `where=LIST`, `note=STRING` (optional)",
        ),
        (
            ["-s", "sure=hig", "-s", "where=a"],
            "`sure` takes one of `low`, `high`, not `hig`",
            "give `sure=low|high`",
        ),
        (["-s", "sure"], "`-s sure` is not NAME=VALUE", "write it as `-s NAME=VALUE`"),
        (["-s", "sure=low", "-s", "sure=low"], "`sure` is set twice", "set it once"),
        (["-s", "sure=low", "--facts", "f"], "`sure` is set twice, by -s and in the file", "set it once"),
        (
            ["-s", 'where=["a"'],
            '`where` takes a list as JSON, such as \'["a", "b"]\', not `["a"`',
            "give `where=LIST`",
        ),
        ([], "step `look`: `sure` is missing; `where` is missing", ""),
    ],
)
def test_facts_that_do_not_fit_are_refused(words: list[str], message: str, hint: str) -> None:
    told("step", "asking")
    Path("f").write_text('{"sure": "low"}')

    status, error = refused("step", "asking", "done", *words)

    assert (status, error["message"]) == (2, message)
    assert hint in error["hint"]
    assert told("step", "asking")["revision"] == 0


# --- compare and swap ---------------------------------------------------------------------------


def test_the_same_report_again_is_answered_as_before() -> None:
    told("step", "asking")
    session = _ids()[0]
    report = [
        "step",
        "asking",
        "done",
        "-s",
        "sure=high",
        "-s",
        "where=a,b",
        "--session",
        session,
        "--expect",
        "0",
    ]
    first = told(*report)
    before = bytes_below(sessions_folder(), but={"lock"})

    again = told(*report)

    assert again.pop("replayed") is True
    assert first.pop("replayed") is False
    assert again == first
    assert bytes_below(sessions_folder(), but={"lock"}) == before


@pytest.mark.parametrize(
    ("words", "step"),
    [
        (["done", "-s", "sure=high", "-s", "where=a"], 0),
        (["ok", "-s", "sure=low", "-s", "where=a"], 0),
        (["done", "-s", "sure=nonsense", "-s", "where=a"], 0),
        (["done", "-s", "sure=low", "-s", "where=a"], 2),
    ],
)
def test_anything_else_at_another_revision_is_a_conflict(words: list[str], step: int) -> None:
    begun = told("step", "asking")
    moved = told("step", "asking", "done", "-s", "sure=low", "-s", "where=a")
    before = bytes_below(sessions_folder(), but={"lock"})

    status, error = refused("step", "asking", *words, "--session", begun["session"], "--expect", str(step))

    assert (status, error["code"]) == (4, "REVISION_CONFLICT")
    at = told("sessions", begun["session"])["history"][-1]["at"]
    assert error["message"] == (
        f"session `{begun['session']}` is at revision 1, not {step}; "
        f"`done` was reported for step `look` at {at}"
    )
    assert error["hint"] == f"see its state: flow resume {begun['session']}"
    details = {
        "session": begun["session"],
        "revision": 1,
        "expected": step,
        "outcome": "done",
        "step": "look",
        "at": at,
    }
    assert {key: error["details"][key] for key in details} == details
    assert moved["revision"] == 1
    assert bytes_below(sessions_folder(), but={"lock"}) == before


# --- another store ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["elsewhere", "a folder/it's one"])
def test_every_printed_command_names_the_store(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import shlex

    store = Path.cwd() / name
    answer = told("step", "small", "--store", name)
    monkeypatch.chdir(tmp_path)
    commands = []

    while answer["next"]:
        commands += [transition["command"] for transition in answer["next"]]
        answer = told(*shlex.split(answer["next"][0]["command"])[1:])

    assert answer["status"] == "completed"
    assert all(command.endswith(f" --store {shlex.quote(str(store))}") for command in commands)
    assert (store / "sessions" / answer["session"]).is_dir()
    assert not (tmp_path / ".flow").exists()


# --- handlers -----------------------------------------------------------------------------------
