"""Sessions that came with a clone, or were spoilt: told, refused or taken over, and never believed."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import pytest
from support import hostile
from support.canary import nothing_runs, plant
from support.forged import folder_of, sealed
from support.judge import judged
from support.sandbox import put_skill, told

FILES = ("journal.jsonl", "session.json", "definition.json", "available-workflows.yaml")
FOREIGN = (
    ["status", "--json"],
    ["status", "ID"],
    ["sessions", "--all"],
    ["sessions", "--all", "--json"],
    ["history", "ID"],
    ["history", "ID", "--json"],
    ["resume", "ID", "--format", "xml"],
    ["verify", "ID", "--json"],
    ["audit", "--json"],
    ["step", "evil", "ok", "--session", "ID", "--json"],
    ["discover", "--session", "ID", "--json"],
    ["adopt", "ID"],
    ["resume", "ID", "--format", "xml"],
    ["resume", "ID", "--format", "text"],
    ["status", "ID", "--json"],
    ["migrate", "ID", "--plan"],
    ["claim", "ID", "d1", "--json"],
    ["answer", "ID", "q=x", "--json"],
    ["finding", "list", "ID", "--json"],
    ["rewind", "ID", "--to", "0", "--json"],
    ["fork", "ID", "--at", "0", "--json"],
    ["step", "evil", "ok", "--session", "ID", "--format", "xml"],
    ["prune", "--dry-run"],
)


QUICK = (
    ["status", "ID"],
    ["history", "ID", "--json"],
    ["verify", "ID", "--json"],
    ["adopt", "ID"],
    ["resume", "ID", "--format", "xml"],
    ["finding", "list", "ID", "--json"],
    ["step", "evil", "ok", "--session", "ID", "--json"],
)


@pytest.fixture
def session() -> str:
    put_skill("evil")
    return str(told("step", "evil")["session"])


def every(session_id: str) -> None:
    for words in FOREIGN:
        judged(*(each.replace("ID", session_id) for each in words))


def record_of(session_id: str) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((folder_of(session_id) / "journal.jsonl").read_text())
    del record["hash"]
    return record


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in hostile.json_documents()])
@pytest.mark.parametrize("file", FILES)
def test_a_hostile_file_of_a_session_is_told_or_passed_over(session: str, file: str, data: bytes) -> None:
    plant()
    (folder_of(session) / file).write_bytes(data)

    with nothing_runs():
        for words in (*QUICK, ["sessions", "--all", "--json"], ["discover", "--session", "ID", "--json"]):
            judged(*(each.replace("ID", session) for each in words))


@pytest.mark.parametrize(
    "more", [b"\n", b"{", b"\0" * 5_000, b"[" * 90_000 + b"\n", b'{"seq":NaN}\n', b"\xff\n"]
)
def test_a_journal_with_something_behind_it_is_told(session: str, more: bytes) -> None:
    journal = folder_of(session) / "journal.jsonl"
    journal.write_bytes(journal.read_bytes() + more)

    every(session)


PARTS = ("record", "session", "definition", "workflow")


@pytest.mark.parametrize("part", PARTS)
def test_a_session_made_by_somebody_else_is_never_believed(session: str, part: str) -> None:
    forge(session, part, hostile.FEW, QUICK)


@pytest.mark.long
@pytest.mark.parametrize("part", PARTS)
def test_a_session_made_by_somebody_else_is_never_believed_by_any_command(session: str, part: str) -> None:
    forge(session, part, tuple(hostile.WRONG_VALUES), FOREIGN)


def forge(session_id: str, part: str, values: Collection[str], commands: Sequence[Sequence[str]]) -> None:
    """Make one part of the session of each wrong type, its hash right, and go on with it."""
    record = record_of(session_id)
    kept = json.loads((folder_of(session_id) / "definition.json").read_text())
    parts = {"record": record, "session": record["session"], "definition": kept, "workflow": kept["workflow"]}
    for _, wrong in hostile.wrong_types(parts[part], values=values):
        made = {
            "record": (wrong, kept),
            "session": ({**record, "session": wrong}, kept),
            "definition": (record, wrong),
            "workflow": (record, {**kept, "workflow": wrong}),
        }[part]
        (folder_of(session_id) / "session.json").unlink(missing_ok=True)
        (folder_of(session_id) / "journal.jsonl").write_bytes(sealed({**made[0], "mac": "0" * 64}))  # type: ignore[dict-item]
        (folder_of(session_id) / "definition.json").write_text(json.dumps(made[1]))
        for words in commands:
            judged(*(each.replace("ID", session_id) for each in words))


def test_what_a_session_of_somebody_else_took_over_is_told_on_its_line_of_an_audit(session: str) -> None:
    record = record_of(session)
    lie = "x\nflow: all is well [OK]"
    record["session"]["received"] = {"handoff": lie, "payload": lie, "trace_id": lie}
    (folder_of(session) / "session.json").unlink()
    (folder_of(session) / "journal.jsonl").write_bytes(sealed({**record, "mac": ""}))

    head = judged("audit").out.splitlines()[0]

    assert head.startswith(f"{session} · active · ")
    assert head.endswith(" · took over x flow: all is well [OK] · foreign")


@pytest.mark.parametrize(
    "text", [pytest.param(t, id=n) for n, t in {**hostile.HIDDEN, **hostile.MARKUP}.items()]
)
def test_what_a_session_of_somebody_else_says_is_shown_for_what_it_is(session: str, text: str) -> None:
    record = record_of(session)
    record["by"] = record["at"] = text
    record["note"] = {"reason": text, text: text}
    record["session"] = {
        **record["session"],
        "params": {"a": text},
        "state": {text: text},
        "started_at": text,
    }
    (folder_of(session) / "session.json").unlink()
    (folder_of(session) / "journal.jsonl").write_bytes(sealed({**record, "mac": ""}))

    every(session)
