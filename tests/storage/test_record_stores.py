"""What every store of records must do: files, SQLite, PostgreSQL and a new kind of store pass the same tests."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.one_file_store import OneFileLines
from support.refusals import refused

pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")

from flowrail.errors import FlowError, StorageError, UsageError
from flowrail.storage.database import Database
from flowrail.storage.file_store import FileLines
from flowrail.storage.journal import DamagedError
from flowrail.storage.lock import LockTimeoutError
from flowrail.storage.record_store import JournalFullError, Kind, RecordStore
from flowrail.storage.sql_store import SqlLines
from flowrail.storage.user_mark import Owner
from flowrail.text import size_limits


@dataclass(frozen=True)
class Entry:
    """A record: a text, and its position in the chain."""

    seq: int
    prev: str
    session: str
    text: str
    hash: str = ""


def kind() -> Kind[Entry]:
    def unknown(key: str, _known_ids: Callable[[], list[str]]) -> FlowError:
        return UsageError(f"unknown {key}", hint="")

    return Kind(
        "session",
        Entry,
        re.compile(r"[a-z]+-[a-z0-9]{6}\Z"),
        ("session",),
        unknown,
        lambda key: StorageError(f"{key} is foreign", hint=""),
        lambda entries, at, by: replace(
            entries[-1], seq=len(entries), prev=entries[-1].hash, text=f"accepted by {by}"
        ),
    )


def in_files(path: str, owner: Owner) -> RecordStore[Entry]:
    return RecordStore(FileLines(path, kind(), owner), kind())


def in_database(database: Database) -> RecordStore[Entry]:
    return RecordStore(SqlLines(database, kind()), kind())


def in_one_file(path: str) -> RecordStore[Entry]:
    return RecordStore(OneFileLines(path, kind()), kind())


Open = Callable[[], RecordStore[Entry]]


@pytest.fixture
def database() -> Iterator[Callable[[str], Database]]:
    """Return a function that opens a database as another process would; all are closed after the test."""
    opened: list[Database] = []

    def open_database(address: str) -> Database:
        opened.append(Database(address))
        return opened[-1]

    yield open_database
    for database in opened:
        database.close()


@pytest.fixture(params=["files", "sqlite", "postgresql", "one file"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, database: Callable[[str], Database]) -> Open:
    """Return a function that opens the store as another process would."""
    if request.param == "files":
        return lambda: in_files(str(tmp_path / ".flow"), Owner(str(tmp_path / "state")))
    if request.param == "one file":
        return lambda: in_one_file(str(tmp_path / "records.jsonl"))
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'flow.db'}"
    else:
        address = request.getfixturevalue("postgresql").fresh_database()
    database(address).init()
    return lambda: in_database(database(address))


def started(store: RecordStore[Entry], text: str = "first") -> str:
    key = store.new_id("work")
    store.create(key, Entry(0, "", key, text))
    return key


def add(store: RecordStore[Entry], key: str, text: str, *, wait: float = 10.0) -> Entry:
    with store.hold(key, wait=wait) as held:
        return held.append(replace(held.newest, seq=held.newest.seq + 1, prev=held.newest.hash, text=text))


def test_records_are_read_in_both_directions_and_follow_each_other(open_store: Open) -> None:
    key = started(open_store())
    for text in ("second", "third"):
        add(open_store(), key, text)
    store = open_store()

    assert [entry.text for entry in store.records(key)] == ["first", "second", "third"]
    assert [entry.text for entry in store.newest_first(key)] == ["third", "second", "first"]
    assert store.newest(key).text == "third"
    assert store.ids() == [key]


def test_a_record_that_leaves_no_room_is_refused_and_changes_nothing(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    key = started(store)
    (line,) = store.lines(key)
    monkeypatch.setattr(size_limits, "JOURNAL_BYTES", len(line) + 300)

    with store.hold(key, wait=1) as held:
        record = Entry(1, held.newest.hash, key, "second")
        with pytest.raises(JournalFullError):
            held.append(record, reserve=200)
        held.append(record)
        assert not held.has_room(0)

    assert [entry.text for entry in open_store().records(key)] == ["first", "second"]


def test_another_session_can_start_while_one_is_held(open_store: Open) -> None:
    store = open_store()
    parent = started(store)

    with store.hold(parent, wait=1) as held:
        child = started(store, "child")
        held.append(replace(held.newest, seq=1, prev=held.newest.hash, text="with child"))

    assert open_store().newest(parent).text == "with child"
    assert open_store().newest(child).text == "child"


def test_a_record_can_only_be_added_by_the_process_that_holds_the_lock(open_store: Open) -> None:
    key = started(open_store())

    with open_store().hold(key, wait=1), pytest.raises(LockTimeoutError):
        add(open_store(), key, "second", wait=0)

    assert [entry.text for entry in open_store().records(key)] == ["first"]


def test_each_record_changes_the_stamp_and_nothing_is_left_of_a_deleted_session(open_store: Open) -> None:
    key, other = started(open_store()), started(open_store())
    before = open_store().stamps()

    add(open_store(), key, "second")

    after = open_store().stamps()
    assert (after[key] != before[key], after[other]) == (True, before[other])
    open_store().delete(key)
    assert (open_store().ids(), open_store().exists(key)) == ([other], False)
    with pytest.raises(UsageError, match="unknown"):
        open_store().newest(key)


def test_records_are_restored_as_they_were_written(open_store: Open, tmp_path: Path) -> None:
    elsewhere = in_files(str(tmp_path / "elsewhere"), Owner(str(tmp_path / "their-state")))
    key = started(elsewhere)
    add(elsewhere, key, "second")
    lines = elsewhere.lines(key)

    open_store().restore(key, lines, at="now", by="me")

    assert open_store().lines(key)[:2] == lines
    add(open_store(), key, "third")
    assert [entry.text for entry in open_store().records(key)][:2] == ["first", "second"]
    assert open_store().newest(key).text == "third"


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'flow.db'}"
    return str(request.getfixturevalue("postgresql").fresh_database())


def test_a_database_without_our_tables_says_how_to_create_them(
    address: str, database: Callable[[str], Database]
) -> None:
    is_file = address.startswith("sqlite")
    missing = "flow.db does not exist" if is_file else "has no tables of flowrail"
    with refused("SCHEMA_DIFFERS", match=missing) as caught:
        in_database(database(address)).ids()

    assert "flow store init" in str(caught.value.hint)
    database(address).init()
    database(address).init()
    assert in_database(database(address)).ids() == []


def test_many_processes_may_create_the_tables_at_the_same_time(
    address: str, database: Callable[[str], Database]
) -> None:
    with ThreadPoolExecutor(6) as processes:
        list(processes.map(lambda _: database(address).init(), range(6)))

    assert in_database(database(address)).ids() == []


def test_a_record_that_was_changed_in_the_database_is_found(
    tmp_path: Path, database: Callable[[str], Database]
) -> None:
    file = tmp_path / "flow.db"
    database(f"sqlite:///{file}").init()
    store: RecordStore[Entry] = in_database(database(f"sqlite:///{file}"))
    key = started(store)
    add(store, key, "second")
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE flow_records SET line = CAST(replace(line, 'first', 'other') AS BLOB) WHERE seq = 0"
        )

    with pytest.raises(DamagedError):
        list(store.records(key))
