"""Databases with tables of another version: refused with what to do, or upgraded with everything in them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from support.golden import FOLDER
from support.sandbox import LOOP, LOOP_TEXTS, flow, put_skill, refused, told

pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")

import sqlalchemy

from flowrail import StorageError, open_store
from flowrail.storage import database

OPEN, ENDED, SENDER = "loop-hbiahg", "loop-u6aw4h", "source-7b3yvn"
"""The recorded sessions. The first belongs to the conversation `conversation-1` and has a long topic."""

Execute = Callable[[str], list[Any]]


@pytest.fixture(params=["sqlite", "postgresql"])
def recorded(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Execute]:
    """A database as flowrail with tables of version 1 left it, as the store. Returns what runs SQL in it."""
    kind = request.param
    script = (FOLDER / "databases" / f"schema-1.{kind}.sql").read_text()
    if kind == "sqlite":
        file = tmp_path / "flow.db"
        address = f"sqlite:///{file}"
        with sqlite3.connect(file) as connection:
            connection.executescript(script)
        connection.close()

        def execute(statement: str) -> list[Any]:
            with sqlite3.connect(file) as again:
                rows = again.execute(statement).fetchall()
            again.close()
            return rows
    else:
        address = request.getfixturevalue("postgresql").fresh_database()
        psycopg = pytest.importorskip("psycopg")

        def execute(statement: str) -> list[Any]:
            with psycopg.connect(address, client_encoding="utf8") as again:
                cursor = again.execute(statement)
                return cursor.fetchall() if cursor.description else []

        execute(script)
    monkeypatch.setenv("FLOW_STORE", address)
    put_skill("loop", LOOP, texts=LOOP_TEXTS)
    yield execute
    database.close_all()


def upgrade() -> str:
    ran = flow("store", "upgrade", os.environ["FLOW_STORE"])
    assert ran.status == 0, ran.err
    return ran.out


def test_a_database_of_an_older_flowrail_is_refused_with_the_command_that_upgrades_it(
    recorded: Execute,
) -> None:
    status, error = refused("step", "loop", "ok")

    assert (status, error["code"]) == (3, "SCHEMA_DIFFERS")
    assert "has tables of version 1; this flowrail needs version 2" in error["message"]
    assert "flow store upgrade " in error["hint"]
    assert recorded("SELECT version FROM flowrail_schema") == [(1,)]


def test_an_upgraded_database_has_every_session_and_they_continue(
    recorded: Execute, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = recorded("SELECT session, seq, line FROM records ORDER BY session, seq")

    first, second = upgrade(), upgrade()

    assert "upgraded the tables from version 1 to 2" in first
    assert "has tables of version 2 already" in second
    assert recorded("SELECT session, seq, line FROM records ORDER BY session, seq") == lines
    assert {each["session"] for each in told("sessions", "--all")["sessions"]} == {OPEN, ENDED, SENDER}
    assert [told("session", "verify", each)["ok"] for each in (OPEN, ENDED, SENDER)] == [True] * 3
    assert told("handoff", "status", "handoff-7gcrkk")["handoff"] == "handoff-7gcrkk"
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "conversation-1")
    here = told("step", "loop", "ok")
    assert (here["session"], here["revision"], here["step"]["id"]) == (OPEN, 3, "third")
    assert here["topic"].startswith("long words")


def test_an_upgraded_database_has_the_same_tables_as_a_new_one(
    recorded: Execute, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    upgrade()
    if "sqlite" in request.node.name:
        new = f"sqlite:///{tmp_path / 'new.db'}"
    else:
        new = request.getfixturevalue("postgresql").fresh_database()
    database.open_database(new).init()

    def tables(address: str) -> Mapping[str, object]:
        url = database.parse_address(address)
        arguments = {} if url.get_backend_name() == "sqlite" else {"client_encoding": "utf8"}
        engine = sqlalchemy.create_engine(url, connect_args=arguments)
        found = sqlalchemy.inspect(engine)
        described = {
            name: (
                [(c["name"], str(c["type"]), c["nullable"]) for c in found.get_columns(name)],
                found.get_pk_constraint(name)["constrained_columns"],
                [(index["name"], index["column_names"]) for index in found.get_indexes(name)],
            )
            for name in found.get_table_names()
        }
        engine.dispose()
        return described

    assert tables(os.environ["FLOW_STORE"]) == tables(new)


def test_a_database_of_a_newer_flowrail_is_refused_and_not_changed(recorded: Execute) -> None:
    upgrade()
    recorded("UPDATE flowrail_schema SET version = 99")

    for words in (["step", "loop", "ok"], ["store", "upgrade"], ["store", "init"]):
        address = [os.environ["FLOW_STORE"]] if words[0] == "store" else []
        ran = flow(*words, *address)
        assert ran.status == 3
        assert "has tables of version 99; this flowrail knows versions up to 2" in ran.err
        assert "pip install --upgrade" in ran.err
    assert recorded("SELECT version FROM flowrail_schema") == [(99,)]


def test_a_running_client_is_refused_as_soon_as_another_one_upgrades_the_tables(recorded: Execute) -> None:
    upgrade()
    store = open_store()
    session = store.resume(OPEN)
    recorded("UPDATE flowrail_schema SET version = 3")

    with pytest.raises(StorageError, match="tables of version 3"):
        store.report(session, "ok")

    assert (OPEN, 2) in recorded("SELECT id, seq FROM sessions")
