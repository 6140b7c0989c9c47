"""What every store of records must do: files, SQLite and PostgreSQL pass the same tests."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("sqlalchemy", reason="the extra `sql` is not installed")

from flowrail.errors import FlowError, StorageError, UsageError
from flowrail.storage.database import Database, SchemaError
from flowrail.storage.file_store import FileStore, Kind, RecordStore, SideFiles, WrittenRecords
from flowrail.storage.journal import DamagedError, Encoding, JournalFullError
from flowrail.storage.ownership import Owner
from flowrail.storage.sql_store import SqlStore
from flowrail.text import limits


class Entry(NamedTuple):
    """A record: a text, and its position in the chain."""

    seq: int
    prev: str
    session: str
    text: str
    hash: str = ""


def kind() -> Kind[Entry]:
    def encoding(_: SideFiles) -> Encoding[Entry]:
        def encode(entry: Entry) -> dict[str, Any]:
            return {"seq": entry.seq, "prev": entry.prev, "session": entry.session, "text": entry.text}

        return Encoding(encode, lambda data, _: Entry(**data))

    def unknown(key: str, _known_ids: Callable[[], list[str]]) -> FlowError:
        return UsageError(f"unknown {key}", hint="")

    return Kind(
        "session",
        re.compile(r"[a-z]+-[a-z0-9]{6}\Z"),
        encoding,
        lambda entry: entry.session,
        unknown,
        lambda key: StorageError(f"{key} is foreign", hint=""),
    )


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


@pytest.fixture(params=["files", "sqlite", "postgresql"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path, database: Callable[[str], Database]) -> Open:
    """Return a function that opens the store as another process would."""
    if request.param == "files":
        return lambda: FileStore(str(tmp_path / ".flow"), kind(), Owner(str(tmp_path / "state")))
    if request.param == "sqlite":
        address = f"sqlite:///{tmp_path / 'flow.db'}"
    else:
        address = request.getfixturevalue("postgresql").fresh_database()
    database(address).init()
    return lambda: SqlStore(database(address), kind())


def started(store: RecordStore[Entry], text: str = "first") -> str:
    key = store.new_id("work")
    store.create(key, Entry(0, "", key, text), {"definition.json": b"{}"})
    return key


def add(store: RecordStore[Entry], key: str, text: str, *, wait: float = 10.0) -> str:
    with store.change(key, wait=wait) as held:
        return held.append(held.newest._replace(seq=held.newest.seq + 1, prev=held.newest.hash, text=text))


def test_records_are_read_in_both_directions_and_follow_each_other(open_store: Open) -> None:
    key = started(open_store())
    for text in ("second", "third"):
        add(open_store(), key, text)
    store = open_store()

    assert [entry.text for entry in store.records(key)] == ["first", "second", "third"]
    assert [entry.text for entry in store.newest_first(key)] == ["third", "second", "first"]
    assert store.newest(key).text == "third"
    assert store.ids() == [key]


def test_the_newest_record_of_each_session_is_read_and_a_damaged_one_is_an_error(
    open_store: Open,
) -> None:
    store = open_store()
    keys = sorted(started(store) for _ in range(3))
    add(store, keys[0], "second")
    damaged = store.new_id("work")
    store.create(damaged, Entry(0, "", keys[0], "of another session"), {})

    newest = dict(open_store().newest_of_all())

    assert sorted(newest) == sorted([*keys, damaged])
    assert [newest[key]().text for key in keys] == ["second", "first", "first"]
    with pytest.raises(DamagedError):
        newest[damaged]()


def test_a_record_that_leaves_no_room_is_refused_and_changes_nothing(
    open_store: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store()
    key = started(store)
    (line,) = store.lines(key)
    monkeypatch.setattr(limits, "JOURNAL_BYTES", len(line) + 300)

    with store.change(key, wait=1) as held:
        record = Entry(1, held.newest.hash, key, "second")
        with pytest.raises(JournalFullError):
            held.append(record, reserve=200)
        held.append(record)
        assert not held.has_room(0)

    assert [entry.text for entry in open_store().records(key)] == ["first", "second"]


def test_a_change_that_fails_adds_nothing(open_store: Open) -> None:
    store = open_store()
    key = started(store)

    with pytest.raises(RuntimeError), store.change(key, wait=1):
        raise RuntimeError

    assert [entry.text for entry in open_store().records(key)] == ["first"]


def test_another_session_can_start_while_one_is_held(open_store: Open) -> None:
    store = open_store()
    parent = started(store)

    with store.change(parent, wait=1) as held:
        child = started(store, "child")
        held.append(held.newest._replace(seq=1, prev=held.newest.hash, text="with child"))

    assert open_store().newest(parent).text == "with child"
    assert open_store().newest(child).text == "child"


def test_the_stamp_of_a_session_changes_with_each_record(open_store: Open) -> None:
    store = open_store()
    changed, unchanged = started(store), started(store)
    before = store.stamps()

    add(open_store(), changed, "second")
    after = store.stamps()

    assert after[changed] != before[changed]
    assert after[unchanged] == before[unchanged]


def test_texts_are_kept_and_deleted_with_their_session(open_store: Open) -> None:
    store = open_store()
    key = started(store)
    store.side_files(key).write("texts/long", b"words" * 10)

    assert open_store().side_files(key).read("texts/long", 100, "a text") == b"words" * 10
    assert store.side_files(key).size("texts/long") == 50
    store.delete(key)

    assert open_store().ids() == []
    with pytest.raises(UsageError):
        open_store().newest(key)


def test_damaged_records_are_not_restored(open_store: Open) -> None:
    store = open_store()
    (line,) = store.lines(started(store))
    key = "other-abcdef"

    with pytest.raises(DamagedError):
        store.restore(key, WrittenRecords((line.replace(b"text", b"test"),), {"texts/long": b"words"}))

    assert open_store().side_files(key).size("texts/long") == -1


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'flow.db'}"
    return str(request.getfixturevalue("postgresql").fresh_database())


def test_a_database_without_our_tables_says_how_to_create_them(
    address: str, database: Callable[[str], Database]
) -> None:
    with pytest.raises(SchemaError, match="has no tables of flowrail") as refused:
        SqlStore(database(address), kind()).ids()

    assert "flow store init" in str(refused.value.hint)
    database(address).init()
    database(address).init()
    assert SqlStore(database(address), kind()).ids() == []


def test_a_record_that_was_changed_in_the_database_is_found(
    tmp_path: Path, database: Callable[[str], Database]
) -> None:
    file = tmp_path / "flow.db"
    database(f"sqlite:///{file}").init()
    store: SqlStore[Entry] = SqlStore(database(f"sqlite:///{file}"), kind())
    key = started(store)
    add(store, key, "second")
    with sqlite3.connect(file) as connection:
        connection.execute(
            "UPDATE records SET line = CAST(replace(line, 'first', 'other') AS BLOB) WHERE seq = 0"
        )

    with pytest.raises(DamagedError):
        list(store.records(key))
