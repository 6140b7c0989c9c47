"""Records that name long texts as none of ours does: refused where they are read, whoever asks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from support.forged import folder_of, forged_behind, sealed
from support.judge import judged
from support.sandbox import put_skill, told

from flowrail.errors import StorageError
from flowrail.machines.sessions import attachments, limits
from flowrail.machines.sessions.attachments import MARK
from flowrail.machines.sessions.session import Move, Session
from flowrail.storage import journal as storage_journal
from flowrail.storage.journal import DamagedError, Record

TEXT = b"x" * 20_000
NAME = f"texts/{sha256(TEXT).hexdigest()}.txt"
GOOD = {MARK: NAME, "bytes": len(TEXT)}
WRONG: Mapping[str, Any] = {
    "no value": {MARK: None},
    "a value that is nothing": {MARK: None, "value": None},
    "a value that is a list": {MARK: None, "value": []},
    "a value that is a text": {MARK: None, "value": "x"},
    "a value and more": {MARK: None, "value": {}, "more": 1},
    "a value that is wrong within": {MARK: None, "value": {"a": {MARK: 1}}},
    "a name that is a number": {MARK: 7, "bytes": 3},
    "a name that is a list": {MARK: [], "bytes": 3},
    "a name that is a mapping": {MARK: {}, "bytes": 3},
    "no size": {MARK: NAME},
    "a size that is nothing": {MARK: NAME, "bytes": None},
    "a size that is a text": {MARK: NAME, "bytes": "20000"},
    "a size without end": {MARK: NAME, "bytes": float("inf")},
    "a size that is no number": {MARK: NAME, "bytes": float("nan")},
    "a size that is a truth": {MARK: NAME, "bytes": True},
    "a size that is a list": {MARK: NAME, "bytes": []},
    "a size that is huge": {MARK: NAME, "bytes": 10**30},
    "more than a text": {**GOOD, "more": 1},
}
COMMANDS = (
    ["sessions", "--all"], ["status"], ["status", "ID", "--json"], ["step", "evil"], ["resume", "ID"],
    ["verify", "ID", "--json"], ["doctor"], ["migrate", "ID", "--plan"], ["prune", "--dry-run"],
    ["record", "ID"], ["history", "ID"], ["audit", "--json"], ["fork", "ID", "--at", "0"],
    ["rewind", "ID", "--to", "0"], ["finding", "list", "ID"], ["diagram", "--session", "ID"],
)  # fmt: skip
SESSION = Session(
    "a-abcdef", "a", "second", params={"topic": "x"}, state={"big": "x"}, visits={"first": 1},
    last=Move("first", "ok", "ok", "second", {"big": "x"}),
)  # fmt: skip


FEW = ("a value that is a list", "a name that is a number", "no size", "a size without end")


def every(session: str) -> None:
    for words in COMMANDS:
        judged(*(each.replace("ID", session) for each in words))


@pytest.fixture
def session() -> str:
    put_skill("evil")
    return str(told("start", "evil")["session"])


@pytest.mark.parametrize(
    "what", [each if each in FEW else pytest.param(each, marks=pytest.mark.long) for each in WRONG]
)
def test_what_names_a_text_in_another_way_is_told_by_every_command(session: str, what: str) -> None:
    forged_behind(session, session={"state": {"big": WRONG[what]}}, note={})

    every(session)

    assert "cannot be read (ValueError: " in judged("status", session).err


@pytest.mark.parametrize("place", ["session", "note", "params", "state", "grants"])
def test_a_text_in_the_place_of_something_else_is_told_by_every_command(session: str, place: str) -> None:
    (folder_of(session) / "texts").mkdir()
    (folder_of(session) / NAME).write_bytes(TEXT)
    if place == "note":
        forged_behind(session, note=GOOD)
    elif place == "session":
        journal = folder_of(session) / "journal.jsonl"
        first = json.loads(journal.read_bytes())
        made = {**first, "seq": 1, "prev": first["hash"], "session": GOOD}
        journal.write_bytes(
            journal.read_bytes() + sealed({k: v for k, v in made.items() if k not in {"hash", "mac"}})
        )
        (folder_of(session) / "session.json").unlink()
    else:
        forged_behind(session, session={place: GOOD}, note={})

    every(session)

    assert judged("status", session).status == 3


def test_grants_that_only_seem_to_be_a_mapping_of_ours_are_told(session: str) -> None:
    forged_behind(session, session={"grants": {MARK: None, "value": {"first": 1}}}, note={})

    every(session)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in value if isinstance(value, dict) else ():
        yield from places(value[key], (*path, key))


def put(value: Any, path: tuple[Any, ...], what: Any) -> Any:
    return {**value, path[0]: put(value[path[0]], path[1:], what)} if path else what


def test_a_wrong_name_in_any_place_of_a_record_is_refused_loaded_or_not(tmp_path: Path) -> None:
    body = json.loads(storage_journal.write(Record(1, "move", "now", "me", SESSION, {"a": "x"}, "", "")).line)
    del body["hash"]
    load = attachments.loader(str(tmp_path))

    for path in places(body):
        for what in (*WRONG.values(), {MARK: "../key", "bytes": 3}, GOOD):
            line = sealed(put(body, path, what)) if path else sealed(what)
            for how in (None, load):
                try:
                    record = storage_journal.read(line, "journal", 2, how)
                    assert record.apart
                    storage_journal.whole(record, load, "journal")
                except StorageError:
                    continue
                raise AssertionError((path, what))


def test_a_mark_that_is_written_by_escapes_is_the_mark() -> None:
    line = storage_journal.write(Record(1, "move", "now", "me", SESSION, {"mark": {"a": 1}}, "", "")).line
    hidden = json.loads(line)
    del hidden["hash"]
    text = json.dumps(hidden, separators=(",", ":")).replace('"mark":{"a"', '"mark":{"\\u0024file"').encode()
    body = text[:-1]

    with pytest.raises(DamagedError, match="names a long text"):
        storage_journal.read(body + b',"hash":"' + sha256(body).hexdigest().encode() + b'"}\n', "journal", 2)


def test_a_text_that_is_named_very_often_is_refused_before_it_is_read(session: str, tmp_path: Path) -> None:
    size = limits.LARGEST_TEXTS
    often = [{MARK: NAME, "bytes": size}] * (limits.LARGEST_WHOLE // size + 1)
    many = [{MARK: f"texts/{number:064}.txt", "bytes": size} for number in range(2)]
    for named in (often, many):
        with pytest.raises(DamagedError, match="it names long texts of"):
            storage_journal.read(sealed(forged(named)), "journal", 2)
    forged_behind(session, session={"state": {"big": often}}, note={})

    every(session)


def forged(state: Any) -> dict[str, Any]:
    body = json.loads(storage_journal.write(Record(1, "move", "now", "me", SESSION, {}, "", "")).line)
    del body["hash"]
    return {**body, "session": {**body["session"], "state": {"big": state}}}


def test_a_record_that_could_not_be_read_again_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LARGEST_WHOLE", 3 * len(TEXT))
    state = {name: TEXT.decode() for name in "abc"}
    line = storage_journal.write(
        Record(1, "move", "now", "me", SESSION._replace(state=state), {}, "", "")
    ).line

    storage_journal.read(line, "journal", 2)
    with pytest.raises(limits.TooLargeError, match="each as often as it is named"):
        storage_journal.write(
            Record(1, "move", "now", "me", SESSION._replace(state={**state, "d": state["a"]}), {}, "", "")
        )


def test_a_text_is_read_once_for_all_who_name_it(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / NAME).write_bytes(TEXT)
    load = attachments.loader(str(tmp_path))
    first = load(NAME, len(TEXT))
    (tmp_path / NAME).unlink()

    assert load(NAME, len(TEXT)) is first
