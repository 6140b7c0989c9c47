"""Sessions that an earlier version recorded, in files and in SQLite, can be read and continued.

`FLOWRAIL_GOLDEN=write` records them again. Do so only before a release, or for a change that cannot read them.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest
from support.golden import FOLDER, writing
from support.sandbox import accept, allow, flow, put_skill, sessions_folder, told

GOLDEN = FOLDER / "sessions"
STORES = ("files", "sqlite")
SKILL = """\
name: NAME
description: Count the houses and book the difference. For golden sessions.
params: {houses: {type: list, default: [elm, oak]}, who: {type: string, required: true, example: Ann}}
guards: {"Bash(tools/book*)": [book]}
order: ["review before book"]
steps:
  - id: count
    title: Count for $who
    actions: ["Have each house counted."]
    dispatch: {agent: explore, workflow: NAME/house, over: houses, vars: {house: $item}, join: at least 1}
    next: {ok: write, fail: null}
  - id: write
    title: Write the report
    phase: Report
    actions: ["Write the difference to $work/report.md."]
    variants: [{when: "visit > 1", actions: ["Fix what the review found in $work/report.md."]}]
    reports: {difference: {type: integer, required: true, example: 3}}
    evidence: {ok: [{id: report, file: $work/report.md, contains: [difference]}]}
    next: {ok: review}
  - {id: review, title: Review it, actions: ["Record each finding."], next: {ok: gate}}
  - id: gate
    title: Gate
    actions: ["The findings decide."]
    gate: {name: Report, review: review, limit: 3}
    next: {ok: agree, fail: write}
  - id: agree
    title: Agree
    actions: ["Ask the user."]
    questions:
      - id: sure
        header: Sure
        text: Book $difference?
        options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]
    next: {ok: book, fail: null}
  - id: book
    title: Book
    actions: ["Run `flow run book`."]
    forbids: ["Bash(git push*)"]
    commands: {book: {run: [python3, -c, "print('booked 7')"], once: true, facts: {number: {match: "booked (\\\\d+)"}}}}
    evidence: {ok: [{id: booked, command: book}]}
    reports: {number: {type: integer, from: book.number}}
    next: {ok: null}
"""
HOUSE = """\
name: NAME/house
description: Counts a house.
params: {house: {type: string, required: true, example: elm}}
steps:
  - id: look
    title: Count $house
    actions: [Count.]
    reports: {counted: {type: integer, required: true, example: 4}}
    next: {ok: null, fail: null}
"""
COUNTING, ASKED, BOOKED, DONE = "counting", "asked", "booked", "done"
"""How far the golden sessions are: their agents count, the user was asked, the command ran, it has ended."""


def put_golden_skill() -> None:
    put_skill("stock", SKILL, texts={"workflows/house.yaml": HOUSE})


def report(session: str, *words: str) -> Any:
    return told("step", "--session", session, *words)


def count(session: str) -> None:
    """End the first child session, and leave the second one open."""
    first, second = (item["child"] for item in told("step", "--session", session)["dispatches"])
    told("step", "--session", first)
    report(first, "stock/house", "ok", "-s", "counted=4", "--note", "elm counted by hand")
    told("step", "--session", second)


def advance(session: str, far: str) -> None:
    """Lead a new session so far."""
    count(session)
    if far == COUNTING:
        return
    report(session, "stock", "ok", "--note", "both counted")
    work = Path(told("sessions", session)["work_folder"])
    work.mkdir(parents=True, exist_ok=True)
    for text in ("difference 3\n", "difference 3, really\n"):
        (work / "report.md").write_text(text)
        report(session, "stock", "ok", "-s", "difference=3")
        if "really" not in text:
            told("finding", "add", session, "--severity", "MUST", "--text", "why?")
        else:
            told("finding", "resolve", session, "F1")
        report(session, "stock", "ok")
        report(session, "stock", "done")
    if far != ASKED:
        told("answer", session, "sure=Yes")
        report(session, "stock", "done")
        told("run", "book", "--session", session)
    if far == DONE:
        report(session, "stock", "ok")


def record(store: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Record the golden sessions of a kind of store."""
    project = Path(tempfile.gettempdir(), "flowrail-golden", "project")  # records have its path
    shutil.rmtree(project, ignore_errors=True)
    (project / ".git").mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("FLOW_ACTOR", "ann")
    put_golden_skill()
    allow("stock")
    names = {}
    for far in (COUNTING, ASKED, BOOKED, DONE):
        names[far] = str(told("step", "stock", "--new", "-p", "who=Ann")["session"])
        advance(names[far], far)
    folder = GOLDEN / store
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.iterdir():
        old.unlink()
    if store == "files":
        for journal in sessions_folder().glob("*/journal.jsonl"):
            (folder / f"{journal.parent.name}.jsonl").write_bytes(journal.read_bytes())
    else:
        dump = sqlite3.connect(os.environ["FLOW_STORE"].removeprefix("sqlite:///")).iterdump()
        (folder / "store.sql").write_text("\n".join(dump) + "\n")
    (folder / "sessions.json").write_text(json.dumps(names, indent=1) + "\n")


@pytest.fixture(params=STORES)
def golden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Put the golden sessions into a store of this user, and return their ids."""
    store: str = request.param
    folder = GOLDEN / store
    database = Path.cwd().parent / "golden.sqlite"
    if store == "sqlite":
        monkeypatch.setenv("FLOW_STORE", f"sqlite:///{database}")
    if writing():
        if store == "sqlite":
            told("store", "init", os.environ["FLOW_STORE"])
        record(store, monkeypatch)
        pytest.skip("recorded")
    put_golden_skill()
    if store == "sqlite":
        database.touch(0o600)
        sqlite3.connect(database).executescript((folder / "store.sql").read_text())
    for journal in folder.glob("*.jsonl"):
        target = sessions_folder() / journal.stem
        target.mkdir(parents=True, mode=0o700)
        for made in (target, target.parent, target.parent.parent):
            made.chmod(0o700)
        (target / "journal.jsonl").write_bytes(journal.read_bytes())
        assert accept(journal.stem).status == 0
    names: dict[str, str] = json.loads((folder / "sessions.json").read_text())
    return names


def test_every_record_of_a_golden_session_is_read_and_verified(golden: dict[str, str]) -> None:
    shown = {far: told("sessions", session) for far, session in golden.items()}

    assert {far: (known["status"], (known["step"] or {}).get("id")) for far, known in shown.items()} == {
        COUNTING: ("active", "count"),
        ASKED: ("waiting", "agree"),
        BOOKED: ("active", "book"),
        DONE: ("completed", None),
    }
    kinds = {entry["kind"] for entry in shown[DONE]["history"]}
    assert {"start", "move", "finding", "resolve", "answer", "command"} <= kinds
    assert flow("audit", "--verify").status == 0


def test_a_golden_session_continues_to_its_end(golden: dict[str, str]) -> None:
    waiting, booked, counting = golden[ASKED], golden[BOOKED], golden[COUNTING]

    told("answer", waiting, "sure=No")
    assert report(waiting, "stock", "done")["status"] == "failed"
    assert "not run again" in told("run", "book", "--session", booked)["summary"]
    assert report(booked, "stock", "ok")["status"] == "completed"
    second = told("step", "--session", counting)["dispatches"][1]["child"]
    report(second, "stock/house", "ok", "-s", "counted=5")
    assert report(counting, "stock", "ok")["step"]["id"] == "write"
    assert flow("audit", "--verify").status == 0
