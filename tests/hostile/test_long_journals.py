"""Journals of somebody else whose records are many, or hold more of what is told of each than ours do."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support.counting import calls_of
from support.forged import folder_of, forged_behind, sealed
from support.sandbox import SMALL, flow, put_skill, refused, told

from flowrail.handoff import audit
from flowrail.machines.engine.conduct import LONGEST_REFUSAL
from flowrail.machines.sessions import notes, ownership, snapshot
from flowrail.machines.sessions.limits import LARGEST_LINE
from flowrail.machines.sessions.notes import LONGEST_WORD, MOST_MIGRATIONS, MOST_PASSED
from flowrail.operations.sessions import verify
from flowrail.text.safe_text import LONGEST_LINE

LONG = "x" * (LONGEST_WORD + 1)


@pytest.mark.parametrize(
    "name", ["by", "kind", "session.source", "session.moved_at", "last.outcome", "last.passed"]
)
def test_a_record_of_somebody_else_with_a_name_longer_than_any_of_ours_is_told(name: str) -> None:
    put_skill("evil")
    begun = told("start", "evil")
    told(*begun["next"][0]["command"].split()[1:])
    part, _, inner = name.rpartition(".")
    parts: dict[str, Any] = {inner: LONG}
    if part == "last":
        last = json.loads((folder_of(begun["session"]) / "journal.jsonl").read_bytes().splitlines()[-1])
        value: Any = ["first"] * (MOST_PASSED + 1) if inner == "passed" else LONG
        parts = {"session": {"last": {**last["session"]["last"], inner: value}}}
    elif part:
        parts = {"session": {inner: LONG}}
    forged_behind(begun["session"], **parts)

    status, error = refused("record", begun["session"])

    assert (status, error["code"]) == (3, "JOURNAL_DAMAGED")
    assert f"`{name.removeprefix('session.')}`" in error["message"]


def migrated(session: str, times: int) -> None:
    """Put records of migrations behind those of a session, as somebody else can make them."""
    journal = folder_of(session) / "journal.jsonl"
    record = json.loads(journal.read_bytes().splitlines()[-1])
    lines = []
    for _ in range(times):
        before = record.pop("hash")
        record.pop("mac", None)
        record |= {"kind": "migrate", "seq": record["seq"] + 1, "prev": before}
        record["note"] = {"verdict": "x", "renamed": {"first": "first"}}
        lines.append(sealed(record))
        record = json.loads(lines[-1])
    journal.write_bytes(journal.read_bytes() + b"".join(lines))
    (folder_of(session) / "session.json").unlink(missing_ok=True)


def test_more_migrations_of_somebody_else_than_anybody_makes_are_told() -> None:
    put_skill("evil")
    one, other = (str(told("start", "evil")["session"]) for _ in range(2))
    migrated(one, MOST_MIGRATIONS)
    migrated(other, MOST_MIGRATIONS + 1)

    assert flow("history", one).status == 0
    assert "migrations" in flow("history", other, "--json").data["error"]["message"]


def test_what_is_recorded_gets_its_names_of_today_once() -> None:
    put_skill("evil")
    begun = told("start", "evil")
    told(*begun["next"][0]["command"].split()[1:])
    migrated(begun["session"], 100)

    renamed = calls_of(lambda: flow("record", begun["session"]), "_renamed")

    assert renamed == 1  # one turn


def test_the_proof_does_not_name_every_fact_that_a_record_should_not_have() -> None:
    put_skill("evil")
    begun = told("start", "evil")
    told(*begun["next"][0]["command"].split()[1:])
    session = begun["session"]
    journal = folder_of(session) / "journal.jsonl"
    first, last = (json.loads(line) for line in journal.read_bytes().splitlines())
    del last["hash"], last["mac"]
    last["session"]["last"]["facts"] = {f"fact{number}": [] for number in range(2_000)}
    journal.write_bytes(sealed({k: v for k, v in first.items() if k not in {"hash", "mac"}}))
    journal.write_bytes(
        journal.read_bytes() + sealed(last | {"prev": json.loads(journal.read_bytes())["hash"]})
    )
    (folder_of(session) / "session.json").unlink()

    compared = calls_of(lambda: flow("verify", session), "near")
    problems = flow("verify", session, "--json").data["sessions"][0]["problems"]

    assert compared < 100
    assert any("the engine refuses" in each["message"] for each in problems)
    assert max(len(each["message"]) for each in problems) < 2 * LONGEST_REFUSAL


def reported(times: int, facts: Mapping[str, object]) -> str:
    """Return a session that went on by one move, and then by as many with *facts* as somebody else can write."""
    put_skill("evil")
    begun = told("start", "evil")
    session = str(begun["session"])
    told(*begun["next"][0]["command"].split()[1:])
    last = json.loads((folder_of(session) / "journal.jsonl").read_bytes().splitlines()[-1])["session"]["last"]
    for revision in range(2, 2 + times):
        forged_behind(session, session={"revision": revision, "last": {**last, "facts": facts}})
    return session


@pytest.mark.parametrize(
    ("facts", "begins"),
    [
        ({f"k{number}": [] for number in range(60_000)}, "k0=[] k1=[] k2=[] "),
        ({"a": [[0, {"b": ""}]] * 20_000}, "a=[[0, {'b': ''}], [0, {'b': ''}], "),
        ({"a": "x y" * 200_000}, "a=x yx yx y"),
        ({"a": [["x" * 200_000], 0]}, "a=[['xxx"),
    ],
)
def test_the_table_of_a_history_reads_no_more_of_facts_than_it_shows(
    facts: dict[str, Any], begins: str
) -> None:
    session = reported(2, facts)

    read = calls_of(lambda: flow("history", session))
    shown = [line for line in flow("history", session).out.splitlines() if begins in line]

    assert read < 70_000
    assert [len(line.split(begins)[1]) > LONGEST_LINE // 2 for line in shown] == [True] * 2
    assert all("…" in line for line in shown)
    assert [each["facts"] for each in told("history", session)["steps"][2:]] == [facts] * 2


def test_no_more_of_somebody_else_is_read_than_anybody_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    session = reported(6, {})
    own = str(told("start", "evil")["session"])
    for _ in range(6):
        told("finding", "add", own, "--severity", "MUST", "--text", "x")
    monkeypatch.setattr(notes, "MOST_RECORDS", 5)

    assert len(told("history", own)["steps"]) == 7
    for words in (["history", session], ["adopt", session]):
        status, error = refused(*words)
        assert (status, error["code"]) == (3, "JOURNAL_DAMAGED")
        assert error["message"].endswith(f":6: {notes.TOO_LONG}")
    monkeypatch.setattr(notes, "MOST_RECORDS", 100)
    monkeypatch.setattr(notes, "LARGEST_JOURNAL", 1_000)
    assert len(told("history", own)["steps"]) == 7
    assert refused("history", session)[1]["message"].endswith(notes.TOO_LONG)


def test_no_more_steps_are_passed_over_by_somebody_else_than_anybody_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = reported(6, {})
    last = json.loads((folder_of(session) / "journal.jsonl").read_bytes().splitlines()[-1])["session"]["last"]
    for revision in range(8, 12):
        forged_behind(session, session={"revision": revision, "last": {**last, "passed": ["first"] * 10}})
    assert flow("coverage", "evil", "--sessions").status == 0
    monkeypatch.setattr(notes, "MOST_PASSED_IN_ALL", 35)

    for words in (["record", session], ["diagram", "--session", session]):
        assert refused(*words)[1]["message"].endswith(f":12: {notes.TOO_LONG}")
    assert "1 sessions could not be read" in flow("coverage", "evil", "--sessions").out


def test_whose_a_long_journal_is_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    put_skill("evil")
    own = str(told("start", "evil")["session"])
    for _ in range(6):
        told("finding", "add", own, "--severity", "MUST", "--text", "x")
    monkeypatch.setattr(notes, "MOST_RECORDS", 2)

    assert calls_of(lambda: flow("history", own), "is_foreign") == 2  # the store's, and what that asks


def test_records_of_ones_own_are_looked_for_so_far_behind_those_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = reported(6, {})
    journal = folder_of(session) / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join([*lines[:2], *(sealed({"n": n}) for n in range(5_000))]))
    monkeypatch.setattr(ownership, "MOST_BETWEEN", 10)

    looked = calls_of(lambda: flow("fork", session, "--at", "1"), "is_signed")

    assert looked < 50
    assert told("fork", session, "--at", "1")["revision"] == 1


def test_an_audit_tells_so_many_records_of_a_session_of_somebody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = reported(6, {})
    own = str(told("start", "evil")["session"])
    for _ in range(6):
        told("finding", "add", own, "--severity", "MUST", "--text", "x")
    monkeypatch.setattr(audit, "MOST_RECORDS", 5)

    ran = flow("audit", "--json").data

    assert [each["session"] for each in ran["sessions"]] == [own]
    [broken] = ran["broken"]
    assert (broken["id"], broken["code"]) == (session, "TOO_LARGE")
    assert f"flow history {session}" in broken["message"]


def test_the_proof_names_so_many_wrong_records_and_counts_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    session = reported(40, {})
    every = flow("verify", session, "--json").data["sessions"][0]
    monkeypatch.setattr(verify, "MOST_PROBLEMS", 10)

    few = flow("verify", session, "--head", "0" * 16, "--json").data["sessions"][0]

    wrong = len(every["problems"])
    assert wrong > 20
    assert few["problems"][:10] == every["problems"][:10]
    assert few["problems"][10]["code"] == "HEAD_GONE"
    assert f"{wrong - 10} more things are wrong, which are not named" in few["notes"]


def test_the_copy_of_the_largest_state_of_ones_own_is_a_witness(monkeypatch: pytest.MonkeyPatch) -> None:
    put_skill("evil", SMALL.replace("next: {ok: second", "reports: {found: {type: list}}, next: {ok: second"))
    session = str(told("start", "evil")["session"])
    Path("facts.json").write_text(json.dumps({"found": [1] * 120_000}))
    told("step", "evil", "ok", "--session", session, "--facts", "facts.json")
    copy = folder_of(session) / "session.json"

    seen = snapshot.seen_by(str(folder_of(session)))

    assert seen is not None
    assert seen.session["state"]["found"] == [1] * 120_000
    assert flow("verify", session).status == 0
    copy.write_bytes(copy.read_bytes().replace(b'"check"', b'"chick"') + b" " * LARGEST_LINE)
    assert snapshot.seen_by(str(folder_of(session)), half=True) is None
