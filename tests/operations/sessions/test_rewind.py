"""Back to an earlier revision, in the session or in a new one; nothing that was is lost."""

from __future__ import annotations

from typing import Any

import pytest
from support.sandbox import flow, put_skill, refused, sessions_folder, told

from flowrail.text import size_limits

LOOP = """\
name: NAME
steps:
  - id: first
    title: First
    actions: [Begin.]
    reports: {note: {type: string}}
    next: {ok: second}
  - {id: second, title: Second, actions: ["Noted: $note"], limit: 3, next: {ok: third, iterate: second}}
  - {id: third, title: Third, actions: [End it.], next: {ok: null, fail: null}}
"""
ASKING = """\
name: NAME
steps:
  - id: ask
    title: Ask
    actions: [Ask.]
    questions: [{id: go, header: Go, text: "Go?", options: [{label: "Yes", outcome: ok}, {label: "No", outcome: fail}]}]
    next: {ok: work, fail: null}
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, over: [a, b], join: any, prompt: steps/look.md}
    next: {ok: tell}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""


@pytest.fixture
def session() -> str:
    """A session at revision 3: first, second, second again, third."""
    put_skill("loop", LOOP)
    told("step", "loop")
    told("step", "loop", "ok", "-s", "note=one")
    told("step", "loop", "iterate")
    return str(told("step", "loop", "ok")["session"])


def records(session: str) -> list[dict[str, Any]]:
    return list(told("sessions", session)["history"])


# --- rewind


@pytest.mark.parametrize("revision", [0, 1, 2, 3])
def test_no_command_of_the_other_line_counts(session: str, revision: int) -> None:
    told("session", "rewind", session, "--to", str(revision))

    for expect in range(4):
        for outcome in ("ok", "iterate"):
            status, error = refused("step", "loop", outcome, "--session", session, "--expect", str(expect))
            assert (status, error["code"]) == (4, "REVISION_CONFLICT")
    assert refused("session", "rewind", session, "--to", "0", "--expect", "3")[1]["code"] == error["code"]
    assert error["message"] == f"session `{session}` is at revision 4, not 3"


def test_work_and_questions_start_again() -> None:
    put_skill("asking", ASKING, texts={"steps/look.md": "Look at $item.\n"})
    session = told("step", "asking")["session"]
    told("answer", session, "go=Yes")
    told("step", "asking", "done")
    first = told("step", "--session", session + ".1.1")["session"]
    told("step", "ok", "--session", first)
    told("step", "asking", "ok")

    answer = told("session", "rewind", session, "--to", "1")
    assert [(dispatch["child"], dispatch["status"]) for dispatch in answer["dispatches"]] == [
        (f"{session}.3.1", "pending"),
        (f"{session}.3.2", "pending"),
    ]
    assert refused("session", "rewind", first, "--to", "0")[1]["code"] == "DISPATCH_GONE"
    answer = told("session", "rewind", session, "--to", "0")
    assert answer["status"] == "waiting"
    assert [question["answer"] for question in answer["questions"]] == [None]
    assert told("answer", session, "go=No")["status"] == "active"
    assert flow("audit", session, "--verify").status == 0


def test_an_abandoned_session_is_open_again_after_the_printed_command(session: str) -> None:
    revision = told("sessions", session)["revision"]
    ended = flow("session", "abandon", session, "--reason", "the customer left").out.splitlines()

    shown = flow("resume", session).err
    rewound = flow("session", "rewind", session, "--to", str(revision))

    assert ended == [
        f"{session} is abandoned because: the customer left",
        f"continue it after all: flow session rewind {session} --to {revision}",
    ]
    assert shown == "flow: abandoned because: the customer left\n"
    assert rewound.err == f"flow: session `{session}` was abandoned; it is open again\n"
    assert told("sessions", session)["status"] == "active"


def test_a_child_is_reopened_only_while_its_parent_needs_it() -> None:
    put_skill("small")
    put_skill(
        "team",
        "name: NAME\nsteps:\n  - id: give\n    title: Give\n    actions: [Give it.]\n"
        "    dispatch: {agent: explore, workflow: small}\n    next: {ok: null}\n",
    )
    parent = told("step", "team")["session"]
    child = told("step", "--session", parent + ".0.1")["session"]
    assert told("session", "rewind", child, "--to", "0")["revision"] == 1
    told("step", "small", "ok", "--session", child)
    told("step", "small", "ok", "--session", child)

    assert told("resume", parent)["dispatches"][0]["status"] == "completed"
    assert told("session", "rewind", child, "--to", "0")["status"] == "active"
    assert told("resume", parent)["dispatches"][0]["status"] == "active"
    told("session", "rewind", parent, "--to", "0")
    status, error = refused("session", "rewind", child, "--to", "0")

    assert (status, error["code"]) == (4, "DISPATCH_GONE")
    new = told("session", "rewind", child, "--to", "1", "--as-new")
    assert new["parent"] is None
    assert "1 earlier report" in flow("resume", new["session"]).out
    assert told("step", "small", "ok", "--session", new["session"])["revision"] == 2


# --- as a new session


@pytest.mark.every_store
def test_a_new_session_continues_from_there_beside_the_other(session: str) -> None:
    new = told("session", "rewind", session, "--to", "1", "--as-new")

    assert new["session"] != session
    assert (new["revision"], new["step"]["id"], new["actions"]) == (1, "second", ["Noted: one"])
    assert told("resume", session)["revision"] == 3
    assert told("step", "loop", "ok", "--session", new["session"])["step"]["id"] == "third"
    begun = records(new["session"])[0]
    assert begun["kind"] == "rewind-as-new"
    arrival = next(record for record in records(session) if record["revision"] == 1)
    assert begun["note"]["from"] == {"session": session, "revision": 1, "hash": arrival["hash"]}
    last = records(session)[-1]
    assert (last["kind"], last["note"]) == ("rewind-as-new", {"into": new["session"], "to": 1})
    assert flow("audit", "--verify").status == 0
    history = flow("sessions", new["session"]).out
    assert f"rewind-as-new  from session={session}, revision=1" in history
    assert f"rewind-as-new  into {new['session']}; to 1" in flow("sessions", session).out


def test_a_full_journal_refuses_and_prints_the_command_that_continues(
    session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = (sessions_folder() / session / "journal.jsonl").stat().st_size
    monkeypatch.setattr(size_limits, "JOURNAL_BYTES", size + size_limits.CLOSING_BYTES + 50)

    for words in (["step", "loop", "ok", "--session", session], ["session", "rewind", session, "--to", "0"]):
        status, error = refused(*words)
        assert (status, error["code"]) == (3, "JOURNAL_FULL")
        assert error["hint"] == f"continue in a new session: flow session rewind {session} --to 3 --as-new"
        assert error["details"]["command"] == f"flow session rewind {session} --to 3 --as-new"

    ran = flow(*error["details"]["command"].split()[1:], "--json")
    assert ran.err == f"flow: the journal of `{session}` is full, so it is abandoned\n"
    assert (ran.data["revision"], ran.data["step"]["id"]) == (3, "third")
    assert told("step", "loop", "ok")["session"] == ran.data["session"]
    assert told("sessions", session)["status"] == "abandoned"
