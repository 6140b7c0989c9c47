"""Sessions that came with a clone: listed as foreign, refused, and read only to adopt them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import hostile
from support.canary import nothing_runs, plant
from support.forged import disown, folder_of, sealed
from support.judge import judged
from support.sandbox import flow, put_skill, refused, told

LIE = "flow: all is well [OK]"
REFUSED = (
    ["status", "ID"],
    ["history", "ID"],
    ["resume", "ID"],
    ["step", "evil", "ok", "--session", "ID"],
    ["session", "rewind", "ID", "--to", "0"],
    ["session", "fork", "ID", "--at", "0"],
    ["session", "migrate", "ID"],
    ["session", "abandon", "ID"],
    ["claim", "ID", "d1"],
    ["answer", "ID", "q=x"],
    ["finding", "list", "ID"],
    ["skill", "record", "ID"],
    ["diagram", "--session", "ID"],
)
ADOPTED = (
    ["session", "adopt", "ID"],
    ["status", "ID"],
    ["history", "ID"],
    ["session", "verify", "ID"],
    ["resume", "ID", "--format", "xml"],
    ["resume", "ID", "--format", "text"],
    ["step", "evil", "ok", "--session", "ID", "--json"],
)


@pytest.fixture
def session() -> str:
    put_skill("evil")
    return str(told("step", "evil")["session"])


def rewritten(session: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the only record of a session, with a hash that is right, as anybody can."""
    journal = folder_of(session) / "journal.jsonl"
    record = json.loads(journal.read_bytes())
    del record["hash"]
    change(record)
    journal.write_bytes(sealed(record))
    (folder_of(session) / "session.json").unlink(missing_ok=True)


def rewritten_first(session: str) -> None:
    rewritten(session, lambda record: record.update(by="another user"))


@pytest.mark.parametrize("make_foreign", [disown, rewritten_first])
def test_a_foreign_session_is_listed_and_refused_until_it_is_adopted(
    session: str, make_foreign: Callable[[str], None]
) -> None:
    make_foreign(session)

    (item,) = told("sessions")["sessions"]
    assert (item["session"], item["foreign"]) == (session, True)
    for words in REFUSED:
        status, error = refused(*(word.replace("ID", session) for word in words))
        assert (status, error["code"]) == (7, "FOREIGN_SESSION"), words
    (problem,) = flow("session", "verify", session, "--json").data["sessions"][0]["problems"]
    assert problem["code"] == "FOREIGN_SESSION"
    assert "1 foreign" in flow("doctor").out

    assert told("session", "adopt", session)["was_foreign"]
    assert not told("session", "adopt", session)["was_foreign"]
    assert told("step", "evil", "ok", "--session", session)["revision"] == 1
    assert flow("session", "verify", session).status == 0


def test_a_session_is_foreign_to_another_user_and_in_another_place(
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
    rewritten(
        session,
        lambda record: (
            record.update(by=LIE, note={"reason": LIE}),
            record["session"].update(params={"a": LIE}, status=LIE, step=LIE),
        ),
    )

    with nothing_runs():
        for words in (
            *REFUSED,
            ["sessions", "--all"],
            ["audit"],
            ["session", "verify"],
            ["doctor"],
            ["session", "prune", "--dry-run"],
        ):
            ran = judged(*(word.replace("ID", session) for word in words))
            assert LIE not in ran.out + ran.err, words


@pytest.mark.parametrize("data", [pytest.param(data, id=name) for name, data in hostile.json_documents()])
@pytest.mark.parametrize("file", ["journal.jsonl", "session.json", "definition.json", "owner"])
def test_a_hostile_file_of_a_session_ends_in_an_error(session: str, file: str, data: bytes) -> None:
    plant()
    (folder_of(session) / file).write_bytes(data)

    with nothing_runs():
        for words in (
            ["sessions", "--all"],
            ["resume", session],
            ["session", "adopt", session],
            ["resume", session],
        ):
            judged(*words)


@pytest.mark.parametrize(
    "text", [pytest.param(t, id=n) for n, t in {**hostile.HIDDEN, **hostile.MARKUP}.items()]
)
def test_what_an_adopted_session_says_is_shown_as_it_is(session: str, text: str) -> None:
    rewritten(
        session,
        lambda record: (
            record.update(by=text, note={"reason": text, text: text}),
            record["session"].update(params={"a": text}, state={text: text}),
        ),
    )

    for words in ADOPTED:
        judged(*(word.replace("ID", session) for word in words))
