"""Ownership of sessions: several conversations work in one folder, each with its own sessions."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from support.hooks import A, B, claude_code, context, conversation, hook, within
from support.sandbox import flow, put_skill, recorded, told

from flowrail.operations.environment import Environment

LONG = """\
name: NAME
params: {topic: {type: string, required: true}}
steps:
  - {id: one, title: One, actions: [Do.], reports: {mark: {type: string}}, next: {ok: two}}
  - {id: two, title: Two, actions: [Do.], reports: {mark: {type: string}}, next: {ok: three}}
  - {id: three, title: Three, actions: [Do.], reports: {mark: {type: string}}, next: {ok: four}}
  - {id: four, title: Four, actions: [Do.], next: {ok: null}}
"""


@pytest.fixture(autouse=True)
def skills() -> None:
    put_skill("long", LONG)
    put_skill("small")


def begin(caller: str | None = A, topic: str = "slow login") -> str:
    """Start a session in a conversation and return its id."""
    session = within(caller, "step", "long", "-p", f"topic={topic}")["session"]
    assert isinstance(session, str)
    return session


def refused_within(caller: str | None, *words: str) -> dict[str, Any]:
    """Run a command in a conversation that is refused, and return the error."""
    with conversation(caller):
        ran = flow(*words, "--json")
    assert ran.status == 4, ran
    return ran.error


def owner(session: str) -> str | None:
    """Return the conversation that a session belongs to."""
    host = recorded(session)["host"]
    return host["id"] if host else None


@pytest.mark.parametrize("order", sorted(set(permutations([A, A, B, B]))))
def test_two_conversations_in_one_folder_keep_apart_in_every_order(order: tuple[str, ...]) -> None:
    sessions = {A: begin(A, "a"), B: begin(B, "b")}

    for caller in order:
        mark = f"of {caller[:4]}"
        answer = within(caller, "step", "long", "ok", "-s", f"mark={mark}")
        assert answer["session"] == sessions[caller]

    for caller, session in sessions.items():
        status = told("sessions", session)
        assert (status["step"]["id"], status["revision"]) == ("three", 2)
        records = told("sessions", session)["history"]
        assert {record["conversation"] for record in records} == {caller}
        assert [record["facts"].get("mark") for record in records[1:]] == [f"of {caller[:4]}"] * 2


def test_another_conversation_starts_a_session_of_its_own_and_is_told_of_the_other() -> None:
    theirs = begin(A, "slow login")

    with conversation(B):
        ran = flow("step", "long", "-p", "topic=broken search")

    assert ran.status == 0
    assert theirs not in ran.out
    assert (
        f'also open: flow resume {theirs} ("slow login", step `one`, active just now, of another' in ran.err
    )
    assert within(B, "step", "long")["topic"] == "broken search"
    assert within(B, "resume")["topic"] == "broken search"
    assert within(A, "resume")["session"] == theirs


def test_a_report_without_a_session_never_goes_to_another_conversation() -> None:
    theirs = begin(A)

    error = refused_within(B, "step", "long", "ok")

    assert error["code"] == "NO_OPEN_SESSION"
    assert '"slow login", step `one`, active just now, of another conversation' in error["hint"]
    assert "start one: flow step long --new" in error["hint"]
    assert f"flow resume {theirs} --take-over" in error["hint"]
    assert refused_within(B, "resume")["code"] == "NO_OPEN_SESSION"
    assert told("sessions", theirs)["revision"] == 0


def test_a_report_into_the_session_of_another_conversation_is_refused() -> None:
    theirs = begin(A)
    before = told("sessions", theirs)["history"]

    error = refused_within(B, "step", "long", "ok", "--session", theirs)

    assert error["code"] == "OTHER_CONVERSATION"
    assert '"slow login", step `one`, active just now' in error["message"]
    assert f"flow resume {theirs} --take-over" in error["hint"]
    assert told("sessions", theirs)["history"] == before


def test_a_session_of_another_conversation_is_shown_without_instructions_and_commands() -> None:
    put_skill("long", LONG.replace("title: One,", "title: One, evidence: {ok: [{id: notes, file: $notes}]},"))
    theirs = begin(A)

    shown = within(B, "resume", theirs)

    assert (shown["next"], shown["evidence"], shown["step"]["id"]) == ([], [], "one")
    assert "Leave it alone unless the user asks" in shown["actions"][0]
    assert shown["take_over_command"] == f"flow resume {theirs} --take-over"
    with conversation(B):
        for words in (("sessions", theirs), ("resume", theirs), ("step", "long", "--session", theirs)):
            assert f"To take it over: flow resume {theirs} --take-over" in flow(*words).out
    assert owner(theirs) == A


def test_taking_over_is_on_record_and_the_former_owner_is_refused() -> None:
    session = begin(A)

    shown = within(B, "resume", session, "--take-over")

    assert [transition["outcome"] for transition in shown["next"]] == ["ok"]
    record = told("sessions", session)["history"][-1]
    assert (record["kind"], record["conversation"], record["note"]) == (
        "take-over",
        B,
        {"taken_over_from": A},
    )
    assert f"taken over from conversation {A[:8]}" in flow("sessions", session).out
    assert refused_within(A, "step", "long", "ok", "--session", session)["code"] == "OTHER_CONVERSATION"
    assert within(B, "step", "long", "ok")["revision"] == 1
    assert within(A, "step", "long", "ok", "--session", session, "--take-over")["revision"] == 2
    assert told("sessions", session)["history"][-1]["note"] == {"taken_over_from": B}
    assert flow("audit", session, "--verify").status == 0


def test_a_person_without_a_conversation_may_report_by_id_and_the_journal_says_who() -> None:
    session = begin(A)

    answer = within(None, "step", "long", "ok", "--session", session)

    assert answer["revision"] == 1
    record = told("sessions", session)["history"][-1]
    assert (record["conversation"], record["by"]) == (None, Environment().by)
    assert owner(session) == A
    assert within(None, "resume")["session"] == session, "the only session is what a person looks at"
    assert within(None, "step", "long", "ok")["session"] == session, "and what a person reports to"
    assert refused_within(None, "answer", "long", "ship=other:not yet")["code"] == "NOT_WAITING"


def test_a_session_without_an_owner_is_continued_and_belongs_to_the_conversation_that_reports() -> None:
    session = begin(None)

    assert within(A, "step", "long")["session"] == session
    assert owner(session) is None, "printing changes nothing"
    assert within(A, "step", "long", "ok")["revision"] == 1
    assert owner(session) == A
    assert refused_within(B, "step", "long", "ok", "--session", session)["code"] == "OTHER_CONVERSATION"


def test_a_conversation_with_two_sessions_chooses_by_topic() -> None:
    first = begin(A, "slow login")
    second = within(A, "step", "long", "--new", "-p", "topic=broken search")["session"]
    begin(B, "not this one")

    error = refused_within(A, "step", "long", "ok")

    assert error["code"] == "SEVERAL_OPEN"
    assert set(error["details"]["sessions"]) == {first, second}
    assert f'flow resume {first} ("slow login", step `one`, active just now)' in error["hint"]
    assert "not this one" not in error["hint"]
    assert f"flow resume {first} (" in refused_within(A, "resume")["hint"]

    for topic in ("slow search", "slow start", "slow end"):
        within(A, "step", "long", "--new", "-p", f"topic={topic}")
    lines = refused_within(A, "step", "long", "ok")["hint"].splitlines()
    assert [line.partition(" (")[0].rpartition("-")[0] for line in lines[1:4]] == ["flow resume long"] * 3
    assert lines[4:] == ["and 2 more: flow sessions"]


def end_conversation(caller: str) -> None:
    """End a conversation as its host does: with `/clear`, or when the user leaves."""
    assert hook("session-end", claude_code("session-end", caller)) == {}


def test_after_clear_the_next_conversation_continues_and_a_resumed_one_finds_its_session() -> None:
    session = begin(A)

    end_conversation(A)

    assert "Belongs to no conversation" in context(
        hook("session-start", claude_code("session-start", B, source="clear"))
    )
    assert within(A, "step", "long")["session"] == session, "a resumed conversation finds its session"
    assert within(B, "step", "long", "ok")["revision"] == 1
    assert owner(session) == B
    assert told("sessions", session)["history"][-1]["note"] == {"taken_over_from": A}
