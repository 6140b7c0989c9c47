"""A session is kept as long as work that it handed over is on its way, and a day at most."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.handoffs import forged, handoffs_folder, ours, phases, receive, send, session, target
from support.sandbox import flow, told

from flowrail.handoff.handoff import INVOCATION, Handoff
from flowrail.handoff.store import Handoffs, open_handoffs
from flowrail.machines.session_store import Store
from flowrail.storage.converter import to_plain
from flowrail.storage.file_store import FileBackend
from flowrail.storage.user_mark import Owner


def held(session_id: str, hours: float = 0) -> str:
    store = Store(FileBackend(".flow", Owner(str(Path.home() / ".local" / "state" / "flowrail"))))
    now = (datetime.now(UTC) + timedelta(hours=hours)).isoformat()
    return open_handoffs(Handoffs(store, lambda: now))(session_id)


def test_a_payload_that_goes_with_its_session_is_on_record_and_no_finding() -> None:
    ours("digger")
    session_id = session()
    sent = send("digger", session_id)
    receive(sent)
    other = send("digger", session())
    told("session", "abandon", session_id)
    assert flow("session", "prune", "--older-than", "0", "--dry-run").status == 0
    assert phases(sent["id"])[-1] == "acknowledged"

    told("session", "prune", "--older-than", "0")

    assert not Path(sent["payload"]).exists()
    assert phases(sent["id"])[-1] == "pruned"
    assert phases(other["id"])[-1] == "sent"
    assert told("audit", "--verify")["findings"] == []
    assert told("handoff", "status", sent["id"])["status"] == "acknowledged"


def test_where_one_cannot_be_read_every_session_stays() -> None:
    target("digger")
    session_id = session()
    sent = send("digger", session_id)
    (handoffs_folder() / "handoff-aaaaaa").mkdir(0o700)
    assert not held("other-abcdef")
    (handoffs_folder() / sent["id"] / "journal.jsonl").write_text("{}\n")

    assert held("other-abcdef") == f"handoff `{sent['id']}` cannot be read and may belong to it"


def test_one_that_somebody_else_recorded_holds_no_session_of_ours() -> None:
    target("digger")
    session_id = session()
    Path(".flow/handoffs").mkdir(0o700)
    ahead = (datetime.now(UTC) + timedelta(days=3650)).isoformat()
    record = to_plain(Handoff("", "source", "digger", phase=INVOCATION, session=session_id, started_at=ahead))
    forged(
        0, [{"seq": 0, "kind": "sent", "at": ahead, "by": "", "handoff": record, "events": [], "prev": ""}]
    )

    assert not held(session_id)
