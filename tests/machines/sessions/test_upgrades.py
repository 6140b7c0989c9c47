"""What an earlier version wrote is read in the form of today, one pure function a step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.forged import sealed

from flowrail.machines.sessions.record import (
    NewerFormatError,
    session_of_today,
    upgraded,
)
from flowrail.machines.sessions.session import FORMAT, Session
from flowrail.machines.sessions.store import Store
from flowrail.storage.ownership import Owner

SESSION = Session("a-abcdef", "a", "first", state={"sure": "low"})


def rename(data: dict[str, Any]) -> dict[str, Any]:
    """Take a format in which a session's ``state`` was called ``facts`` to one in which it is not."""
    return {"state" if key == "facts" else key: value for key, value in data.items() if key != "format"}


def count(data: dict[str, Any]) -> dict[str, Any]:
    """Take a format in which the revision was a text to one in which it is a number."""
    return {**data, "revision": int(data["revision"])}


def test_format_1_may_leave_out_its_number_and_holds_empty_mappings_for_what_is_absent() -> None:
    first = {
        "id": "x",
        "graph": "a",
        "here": "b",
        "parent": {},
        "received": {"from": "source", "arrived": "hashed"},
        "last": {"passed": ["b"], "said": []},
    }

    assert session_of_today(first) == {
        "id": "x",
        "workflow_fingerprint": "a",
        "step_fingerprint": "b",
        "format": FORMAT,
        "parent": None,
        "received": {"source": "source", "origin": "hashed"},
        "host": None,
        "last": {"skipped": ["b"], "answers": []},
    }


def test_each_earlier_format_is_taken_from_step_to_step() -> None:
    old = {"facts": {"sure": "low"}, "revision": "3"}

    assert upgraded(old, {1: rename, 2: count}, 3, "session") == {"state": {"sure": "low"}, "revision": 3}
    assert upgraded({**old, "format": 2}, {1: rename, 2: count}, 3, "session")["facts"] == {"sure": "low"}
    assert old == {"facts": {"sure": "low"}, "revision": "3"}


def written(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Store:
    """Return a store with one session as *change* has its record."""
    store = Store(str(folder / ".flow"), Owner(str(folder / "state")))
    store.create(SESSION, {}, at="then", by="me")
    journal = Path(store.folder(SESSION.id), "journal.jsonl")
    record = json.loads(journal.read_bytes())
    del record["hash"]
    journal.write_bytes(sealed({**record, "session": change(record["session"])}))
    Path(store.folder(SESSION.id), "session.json").unlink()
    store.adopt(SESSION.id)
    return store


def test_a_journal_of_an_earlier_format_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = written(tmp_path, renamed_back)
    monkeypatch.setattr("flowrail.machines.sessions.record.FORMAT", FORMAT + 1)
    monkeypatch.setattr("flowrail.machines.sessions.record.SESSION_UPGRADES", {FORMAT: rename})

    assert store.read(SESSION.id).session == SESSION


def renamed_back(data: dict[str, Any]) -> dict[str, Any]:
    return {"facts" if key == "state" else key: value for key, value in data.items()}


@pytest.mark.parametrize("number", [FORMAT + 1, 99, 0, -1, True, "1", None, 1.0])
def test_a_later_format_is_refused_and_says_what_to_use(number: object) -> None:
    with pytest.raises(NewerFormatError) as caught:
        session_of_today({"format": number})

    assert (caught.value.code, caught.value.exit_status) == ("NEWER_FORMAT", 3)
    assert "version of flowrail" in str(caught.value.hint)


def test_a_journal_of_a_later_format_is_refused(tmp_path: Path) -> None:
    store = written(tmp_path, lambda data: {**data, "format": FORMAT + 1})

    with pytest.raises(
        NewerFormatError, match=f"the session is of format {FORMAT + 1}; {FORMAT} is the newest"
    ):
        store.read(SESSION.id)
