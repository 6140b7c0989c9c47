"""What an earlier version wrote is read in the form of today, one pure function a step."""

from __future__ import annotations

from typing import Any

import pytest

from flowrail.machines.sessions import limits, upgrades
from flowrail.machines.sessions.session import FORMAT, Session
from flowrail.machines.sessions.upgrades import (
    NewerFormatError,
    definition_of_today,
    session_of_today,
    upgraded,
)
from flowrail.storage import journal
from flowrail.storage.journal import Record
from flowrail.storage.records import to_plain

SESSION = Session("a-abcdef", "a", "first", state={"sure": "low"})


def rename(data: dict[str, Any]) -> dict[str, Any]:
    """Take a format in which a session's ``state`` was called ``facts`` to one in which it is not."""
    return {"state" if key == "facts" else key: value for key, value in data.items() if key != "format"}


def count(data: dict[str, Any]) -> dict[str, Any]:
    """Take a format in which the revision was a text to one in which it is a number."""
    return {**data, "revision": int(data["revision"])}


def test_what_is_of_today_stays_as_it_is() -> None:
    data = {"format": FORMAT, "id": "x"}

    assert session_of_today(data) is data
    assert definition_of_today(data) is data
    assert session_of_today({"id": "x"}) == {"id": "x"}  # (the first format may have left it out)


def test_each_earlier_format_is_taken_from_step_to_step() -> None:
    old = {"facts": {"sure": "low"}, "revision": "3"}

    assert upgraded(old, {1: rename, 2: count}, 3, "session") == {"state": {"sure": "low"}, "revision": 3}
    assert upgraded({**old, "format": 2}, {1: rename, 2: count}, 3, "session")["facts"] == {"sure": "low"}
    assert old == {"facts": {"sure": "low"}, "revision": "3"}


def test_a_journal_of_an_earlier_format_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as then:
        then.setattr(journal, "to_plain", lambda value: renamed_back(to_plain(value)))
        line = journal.write(Record(0, "start", "then", "me", SESSION, {}, "", "")).line

    monkeypatch.setattr(upgrades, "FORMAT", 2)
    monkeypatch.setattr(upgrades, "SESSIONS", {1: rename})
    record = journal.read(line, "journal", 1)

    assert record.session == SESSION
    assert b'"facts":{"sure":"low"}' in line


def renamed_back(data: dict[str, Any]) -> dict[str, Any]:
    return {"facts" if key == "state" else key: value for key, value in data.items()}


@pytest.mark.parametrize("number", [2, 99, 0, -1, True, "1", None, 1.0])
def test_a_later_format_is_refused_and_says_what_to_use(number: object) -> None:
    with pytest.raises(NewerFormatError) as caught:
        session_of_today({"format": number})

    assert (caught.value.code, caught.value.exit_status) == ("NEWER_FORMAT", 3)
    assert "version of flowrail" in str(caught.value.hint)


def test_a_journal_of_a_later_format_is_refused_with_its_place() -> None:
    line = journal.write(Record(0, "start", "then", "me", SESSION._replace(format=2), {}, "", "")).line

    with pytest.raises(NewerFormatError, match=r"^journal:7: the session is of format 2; 1 is the newest"):
        journal.read(line, "journal", 7)


def test_there_is_a_step_from_every_format_that_was_released() -> None:
    assert sorted(upgrades.SESSIONS) == list(range(1, FORMAT))
    assert sorted(upgrades.DEFINITIONS) == list(range(1, upgrades.DEFINITION_FORMAT))
    assert limits.LARGEST_LINE > limits.LARGEST_STATE
