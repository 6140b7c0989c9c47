"""Databases with tables of another version are refused with a remedy, or upgraded with their content."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import LOOP, LOOP_TEXTS, flow, put_skill, refused, told

pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")

import sqlalchemy

from flowrail import StorageError, open_store
from flowrail.storage import database, schema

Execute = Callable[[str], list[Any]]


@pytest.fixture(params=["sqlite", "postgresql"])
def execute(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Execute]:
    """Use a database with a session as the store. Return a function that runs SQL in it."""
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'flow.db'}"
    else:
        address = request.getfixturevalue("postgresql").fresh_database()
    monkeypatch.setenv("FLOW_STORE", address)
    put_skill("loop", LOOP, texts=LOOP_TEXTS)
    assert flow("store", "init", address).status == 0
    told("start", "loop")

    def run(statement: str) -> list[Any]:
        encoding = {} if address.startswith("sqlite") else {"client_encoding": "utf8"}
        engine = sqlalchemy.create_engine(database.parse_address(address), connect_args=encoding)
        with engine.begin() as connection:
            result = connection.execute(sqlalchemy.text(statement))
            rows = [tuple(row) for row in result] if result.returns_rows else []
        engine.dispose()
        return rows

    yield run
    database.close_all()


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A flowrail whose tables have one version more, with another column."""

    def add_colour(connection: sqlalchemy.Connection) -> None:
        connection.execute(sqlalchemy.text("ALTER TABLE sessions ADD COLUMN colour VARCHAR(9)"))

    database.close_all()  # the next command is another process
    monkeypatch.setattr(schema, "_UPGRADES", {2: add_colour})
    monkeypatch.setattr(schema, "SCHEMA_VERSION", 3)
    monkeypatch.setattr(database, "SCHEMA_VERSION", 3)


def test_older_tables_are_refused_until_they_are_upgraded_and_every_session_continues(
    execute: Execute, newer: None
) -> None:
    del newer
    lines = execute("SELECT session, seq, line FROM records ORDER BY session, seq")

    status, error = refused("step", "loop", "ok")
    first, second = (flow("store", "upgrade", os.environ["FLOW_STORE"]).out for _ in range(2))

    assert (status, error["code"]) == (3, "SCHEMA_DIFFERS")
    assert "has tables of version 2; this flowrail needs version 3" in error["message"]
    assert "flow store upgrade " in error["hint"]
    assert "upgraded the tables from version 2 to 3" in first
    assert "has tables of version 3 already" in second
    assert execute("SELECT session, seq, line FROM records ORDER BY session, seq") == lines
    assert execute("SELECT colour FROM sessions") == [(None,)]
    assert told("step", "loop", "ok")["revision"] == 1


@pytest.mark.parametrize(
    ("version", "message"),
    [
        (99, "has tables of version 99; this flowrail knows versions up to 2"),
        (1, "has tables of version 1, from before the first release"),
    ],
)
def test_tables_that_cannot_be_upgraded_are_refused_and_not_changed(
    execute: Execute, version: int, message: str
) -> None:
    execute("UPDATE flowrail_schema SET version = VERSION".replace("VERSION", str(version)))
    database.close_all()

    for words in (["step", "loop", "ok"], ["store", "upgrade"], ["store", "init"]):
        ran = flow(*words, *([os.environ["FLOW_STORE"]] if words[0] == "store" else []))
        assert (ran.status, message in ran.err) == (3, True)

    assert execute("SELECT version FROM flowrail_schema") == [(version,)]


def test_a_running_client_is_refused_as_soon_as_another_one_upgrades_the_tables(execute: Execute) -> None:
    store = open_store()
    ((session, seq),) = execute("SELECT id, seq FROM sessions")
    stored = store.resume(session)
    execute("UPDATE flowrail_schema SET version = 3")

    with pytest.raises(StorageError, match="tables of version 3"):
        store.report(stored, "ok")

    assert execute("SELECT id, seq FROM sessions") == [(session, seq)]
