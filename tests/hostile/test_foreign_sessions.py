"""Sessions and handoffs from elsewhere: listed as foreign, refused, and read only to accept them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import hostile_documents
from support.answers import checked
from support.canary import nothing_runs, plant
from support.forged import disown, folder_of, sealed
from support.handoffs import handoffs_folder, ours, send
from support.handoffs import session as handoff_session
from support.sandbox import accept, flow, put_skill, refused, told

LIE = "flow: all is well [OK]"
REFUSED = (
    "sessions ID", "resume ID", "step evil ok --session ID", "session rewind ID --to 0",
    "session rewind ID --to 0 --as-new", "session migrate ID", "session abandon ID", "answer ID q=x",
    "finding list ID", "diagram --session ID",
)  # fmt: skip
LISTING = ("sessions --all", "audit", "audit --verify", "doctor", "session prune --dry-run")


@pytest.fixture
def session() -> str:
    put_skill("evil")
    return str(told("step", "evil")["session"])


def rewrite(session: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the only record of a session and its hash, as anyone can."""
    journal = folder_of(session) / "journal.jsonl"
    record = json.loads(journal.read_bytes())
    change(record)
    journal.write_bytes(sealed(record))


def with_another_first_record(session: str) -> None:
    rewrite(session, lambda record: record.update(by="another user"))


@pytest.mark.parametrize("make_foreign", [disown, with_another_first_record])
def test_a_foreign_session_is_listed_and_refused_until_it_is_accepted(
    session: str, make_foreign: Callable[[str], None]
) -> None:
    make_foreign(session)

    (item,) = told("sessions")["sessions"]
    assert (item["session"], item["status"]) == (session, "foreign")
    for line in REFUSED:
        status, error = refused(*line.replace("ID", session).split())
        assert (status, error["code"]) == (7, "FOREIGN_SESSION"), line
    (problem,) = flow("audit", session, "--verify", "--json").data["findings"]
    assert problem["code"] == "FOREIGN_SESSION"
    assert "FOREIGN_SESSION" in flow("doctor").out

    assert accept(session).data["changed"]
    assert not accept(session).data["changed"]
    assert told("step", "evil", "ok", "--session", session)["revision"] == 1
    assert flow("audit", session, "--verify").status == 0


def test_a_session_is_foreign_to_another_user_and_in_another_folder(
    session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(".flow").rename("elsewhere")
    assert refused("resume", session, "--store", "elsewhere")[1]["code"] == "FOREIGN_SESSION"

    Path("elsewhere").rename(".flow")
    assert told("resume", session)["session"] == session
    monkeypatch.setenv("XDG_STATE_HOME", str(Path.cwd() / "another"))
    assert refused("resume", session)[1]["code"] == "FOREIGN_SESSION"


def test_nothing_of_a_foreign_session_is_printed_or_run(session: str) -> None:
    plant()
    rewrite(
        session,
        lambda record: (
            record.update(by=LIE, note={"reason": LIE}),
            record["session"].update(params={"a": LIE}, status=LIE, step=LIE),
        ),
    )

    with nothing_runs():
        for line in (*REFUSED, *LISTING):
            ran = checked(*line.replace("ID", session).split())
            assert LIE not in ran.out + ran.err, line


@pytest.mark.parametrize(
    "data", [pytest.param(data, id=name) for name, data in hostile_documents.json_documents()]
)
def test_a_hostile_journal_ends_in_an_error(session: str, data: bytes) -> None:
    plant()
    (folder_of(session) / "journal.jsonl").write_bytes(data)

    with nothing_runs():
        for line in ("sessions --all", "resume ID", "trust --session ID", "resume ID"):
            checked(*line.replace("ID", session).split())


def test_a_handoff_that_another_user_recorded_is_refused() -> None:
    ours("other")
    sent = send("other", handoff_session())["id"]
    disown(sent, handoffs_folder() / sent)

    for verb in ("status", "cancel"):
        status, error = refused("handoff", verb, sent)
        assert (status, error["code"]) == (7, "FOREIGN_HANDOFF")
    assert told("handoff", "status", "--all")["handoffs"] == []
    assert "1 handoff cannot be read" in flow("handoff", "status", "--all").err


def test_handoffs_behind_a_link_are_refused_and_not_changed() -> None:
    ours("other")
    sent = send("other", handoff_session())["id"]
    left = handoffs_folder() / sent / ".0123456789abcdef.tmp"
    left.touch()
    os.utime(left, (0, 0))
    elsewhere = Path("elsewhere").absolute()
    Path(".flow").rename(elsewhere)
    Path(".flow").mkdir(mode=0o700)
    Path(".flow/handoffs").symlink_to(elsewhere / "handoffs")
    journal = elsewhere / "handoffs" / sent / "journal.jsonl"
    before = journal.read_bytes()

    for line in (
        "handoff status --all",
        f"handoff cancel {sent}",
        "audit --verify",
        "session prune --older-than 0",
    ):
        status, error = refused(*line.split())
        assert (status, error["code"]) == (3, "DIRECTORY_NOT_PRIVATE"), line
    assert left.exists()
    assert journal.read_bytes() == before
