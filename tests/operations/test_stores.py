"""Copying all sessions and handoffs of a store to another one."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.databases import Server
from support.dispatching_skill import put_lead
from support.handoffs import ours, send, target
from support.handoffs import session as sending_session
from support.sandbox import LOOP, LOOP_TEXTS, flow, put_skill, sessions_folder, told

from flowrail import StorageError, open_store

LONG = "word " * 6_000


def looping(*reports: str) -> str:
    put_skill("loop", LOOP, texts=LOOP_TEXTS)
    session = str(told("step", "loop", "--new", "-p", f"topic={LONG}")["session"])
    for outcome in reports:
        told("step", "loop", outcome, "--session", session)
    return session


def journal(session: str, store: str = ".flow") -> bytes:
    return (sessions_folder(Path(store)) / session / "journal.jsonl").read_bytes()


def test_a_store_goes_into_a_database_and_back_as_it_was_written(tmp_path: Path) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")
    session = looping("ok", "iterate")
    ours("source")
    target("receiver")
    sent = send("receiver", sending_session("source", "-s", "synthesis_summary=done"))
    address, back = f"sqlite:///{tmp_path / 'flow.db'}", str(tmp_path / "back")
    assert flow("store", "init", address).status == 0

    first = flow("store", "copy", ".flow", address)
    again = flow("store", "copy", ".flow", address)
    assert flow("store", "copy", address, back).status == 0

    assert "copied 2 sessions and 1 handoff" in first.out
    assert "copied 0 sessions and 0 handoffs; 3 were there already" in again.out
    assert journal(session, back).startswith(journal(session))  # a record that accepts them follows
    assert flow("audit", session, "--verify", "--store", address).status == 0
    assert told("step", "loop", "ok", "--session", session, "--store", back)["step"]["id"] == "third"
    assert told("handoff", "status", sent["id"], "--store", back)["id"] == sent["id"]


@pytest.mark.parametrize(
    "form", ["postgresql://postgres:PASSWORD@HOST", "postgresql://postgres@HOST?password=PASSWORD"]
)
def test_a_password_is_in_no_output_record_or_file(
    form: str,
    postgresql: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    password = "correct-horse"  # noqa: S105
    plain = postgresql.fresh_database()
    address = form.replace("PASSWORD", password).replace("HOST", plain.partition("@")[2])
    wrong = address.replace(f":{postgresql.port}/", ":1/")
    monkeypatch.setenv("FLOW_STORE", address)
    put_skill("loop", LOOP, texts=LOOP_TEXTS)
    put_lead("lead")
    target("receiver")
    psycopg = pytest.importorskip("psycopg", reason="the extra `sql` is not installed")
    runs = [flow("store", "init", plain)]
    session = told("step", "loop", "--new")["session"]
    lead = told("step", "lead", "--new", "-p", 'areas=["a"]')
    sender = sending_session("source", "-s", "synthesis_summary=done")

    commands = (
        ["step", "loop", "ok", "--session", session],
        ["step", "loop", "ok", "--session", session, "--store", plain, "--json"],
        ["resume", session, "--store", plain],
        ["resume", session, "--store", address],
        ["sessions", session],
        ["sessions", "--all"],
        lead["dispatches"][0]["command"].split()[1:],
        ["handoff", "send", "receiver", "--session", sender],
        ["audit", "--verify"],
        ["doctor"],
        ["audit", "--verify"],
        ["store", "copy", ".flow", wrong],
        ["store", "copy", plain, str(tmp_path / "copy")],
        ["step", "loop", "ok", "--session", "loop-zzzzzz"],
    )
    runs += [flow(*words) for words in commands]
    monkeypatch.setenv("FLOW_STORE", wrong)
    runs += [flow("sessions"), flow("step", "loop", "--json"), flow("store", "init", wrong)]
    store = open_store(wrong)
    with pytest.raises(StorageError) as failed:
        store.list()

    texts = [text for ran in runs for text in (ran.out, ran.err)]
    texts += [repr(store), str(failed.value), *failed.value.__notes__, *capsys.readouterr()]
    for folder in (Path.home(), Path.cwd(), tmp_path):
        texts += [path.read_text("utf-8", "replace") for path in folder.rglob("*") if path.is_file()]
    with psycopg.connect(plain) as connection:
        for table in ("flow_entries", "flow_records"):
            rows = connection.execute(f"SELECT * FROM {table}".encode()).fetchall()  # noqa: S608
            texts += [str(row) for row in rows]
    assert any("postgresql://postgres@127.0.0.1" in text for text in texts)
    assert [text for text in texts if password in text] == []


def test_stores_with_different_records_of_one_session_are_not_mixed(tmp_path: Path) -> None:
    session = looping("ok")
    store = str(tmp_path / "store")
    flow("store", "copy", ".flow", store)
    told("step", "loop", "ok", "--session", session)
    told("step", "loop", "iterate", "--session", session, "--store", store)

    ran = flow("store", "copy", ".flow", store)

    assert ran.status == 4
    assert "DIFFERENT_SESSION" in ran.err


def test_the_tables_are_made_in_the_database_that_the_environment_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")
    monkeypatch.setenv("FLOW_STORE", f"sqlite:///{tmp_path / 'flow.db'}")
    put_skill("loop", LOOP, texts=LOOP_TEXTS)

    assert flow("store", "init").status == 0
    assert told("step", "loop", "--new")["revision"] == 0

    monkeypatch.delenv("FLOW_STORE")
    assert "is not the address of a database" in flow("store", "init").err
