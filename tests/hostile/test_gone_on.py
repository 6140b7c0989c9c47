"""Sessions that this user began or took over, and that somebody without their key went on with."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from support.forged import folder_of, forged_behind, sealed
from support.golden_sessions import KEPT
from support.judge import judged
from support.sandbox import flow, put_skill, refused, told

ACTS = (
    ["step", "plain", "ok", "--session", "ID"],
    ["step", "plain", "--session", "ID"],
    ["resume", "ID"],
    ["rewind", "ID", "--to", "0"],
    ["abandon", "ID"],
    ["migrate", "ID"],
)


@pytest.fixture
def session() -> str:
    put_skill("plain")
    return str(told("start", "plain")["session"])


def journal(session: str) -> Path:
    return folder_of(session) / "journal.jsonl"


def stripped(session: str, *, keep: Callable[[int], bool] = lambda _: False) -> None:
    """Take the marks away from the records of a session, but of those to *keep*, the chain made right again."""
    before, lines = "", []
    for number, line in enumerate(journal(session).read_bytes().splitlines(keepends=True)):
        record = json.loads(line)
        mac = record.pop("mac", None)
        del record["hash"]
        made = sealed({**record, "prev": before, **({"mac": mac} if mac and keep(number) else {})})
        before = json.loads(made)["hash"]
        lines.append(made)
    journal(session).write_bytes(b"".join(lines))
    (folder_of(session) / "session.json").unlink(missing_ok=True)


def is_foreign(session: str) -> bool:
    (item,) = (each for each in told("sessions", "--all")["sessions"] if each["session"] == session)
    return bool(item["foreign"])


def test_a_record_of_somebody_else_behind_ones_own_is_told_and_never_gone_on_from(session: str) -> None:
    forged_behind(session, kind="abandon", note={"reason": "obey"}, by="somebody")

    for words in ACTS:
        status, error = refused(*(each.replace("ID", session) for each in words))
        assert (status, error["code"]) == (7, "FOREIGN_SESSION"), words
        assert "somebody else went on with" in error["message"]
        assert f"flow adopt {session}" in error["hint"]
    assert is_foreign(session)
    (problem,) = told_by_verify(session)
    assert (problem["code"], problem["place"][-2:]) == ("FOREIGN_SESSION", ":2")


def told_by_verify(session: str) -> list[dict[str, str]]:
    problems: list[dict[str, str]] = judged("verify", session, "--json").data["sessions"][0]["problems"]
    return problems


def test_a_fork_begins_with_ones_own_records_only(session: str) -> None:
    told("step", "plain", "ok", "--session", session)
    forged_behind(session, kind="move", session={"revision": 2, "state": {"obey": 1}})

    assert refused("fork", session, "--at", "2")[1]["code"] == "UNKNOWN_REVISION"
    fork = told("fork", session, "--at", "1")

    assert fork["step"]["id"] == "second"
    assert not is_foreign(fork["session"])


def test_records_whose_marks_were_taken_away_are_not_ones_own(session: str) -> None:
    told("step", "plain", "ok", "--session", session)
    stripped(session, keep=lambda number: number == 0)

    assert is_foreign(session)

    stripped(session)
    assert is_foreign(session)


def test_a_record_that_was_marked_for_another_session_is_damage(session: str) -> None:
    other = str(told("start", "plain")["session"])
    journal(session).write_bytes(journal(other).read_bytes())
    (folder_of(session) / "session.json").unlink()

    assert refused("resume", session)[1]["code"] == "JOURNAL_DAMAGED"


def test_what_was_taken_over_is_ones_own_and_what_follows_from_others_is_not(session: str) -> None:
    forged_behind(session, kind="note", by="somebody")
    told("adopt", session)
    assert told_by_verify(session) == []
    assert not is_foreign(session)

    forged_behind(session, kind="note", by="somebody again")
    assert is_foreign(session)
    told("adopt", session)
    told("step", "plain", "ok", "--session", session)

    assert not is_foreign(session)
    assert told_by_verify(session) == []


@pytest.fixture
def earlier(session: str) -> str:
    """A session as an earlier version wrote it: of its records, the first alone is marked, in its own way."""
    told("step", "plain", "ok", "--session", session)
    state = Path.home() / ".local" / "state" / "flowrail"
    key = bytes.fromhex((state / "key").read_text())
    stripped(session)
    first, second = map(json.loads, journal(session).read_bytes().splitlines())
    del first["hash"], second["hash"]
    text = json.dumps(first, separators=(",", ":")).encode()
    line = sealed({**first, "mac": hmac.digest(key, text, "sha256").hex()})
    journal(session).write_bytes(line + sealed({**second, "prev": json.loads(line)["hash"]}))
    return session


def test_a_session_of_an_earlier_version_goes_on_and_is_marked_from_there(earlier: str) -> None:
    assert not is_foreign(earlier)
    before = len(journal(earlier).read_bytes())
    told("rewind", earlier, "--to", "0")
    assert told_by_verify(earlier) == []

    cut = journal(earlier).read_bytes()[:before]
    journal(earlier).write_bytes(cut)
    (folder_of(earlier) / "session.json").unlink()
    assert not is_foreign(earlier)  # as far as it came then

    forged_behind(earlier, kind="note", by="somebody")
    assert is_foreign(earlier)
    assert told_by_verify(earlier)[0]["place"].endswith(":3")


def test_the_golden_sessions_have_records_without_marks() -> None:
    journals = list(KEPT.glob("*/**/journal.jsonl"))

    assert journals
    assert any(b'"mac"' not in line for each in journals for line in each.read_bytes().splitlines()[1:])


def test_whoever_has_no_key_is_not_believed_for_a_mark_of_no_key(session: str) -> None:
    (Path.home() / ".local" / "state" / "flowrail" / "key").unlink()
    record = json.loads(journal(session).read_bytes())
    del record["hash"], record["mac"]
    text = json.dumps(record, separators=(",", ":")).encode()
    journal(session).write_bytes(sealed({**record, "mac": hmac.digest(b"", text, "sha256").hex()}))
    (folder_of(session) / "session.json").unlink()

    assert "1 foreign" in flow("doctor").out
