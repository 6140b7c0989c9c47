"""Notes: texts that come with a report, kept with the session apart from its facts, and shown when it is resumed."""

from __future__ import annotations

from typing import Any

from support.hooks import A, within
from support.sandbox import flow, put_skill, recorded, refused, told


def notes(session: str) -> list[tuple[str, str, str]]:
    """Return the notes that a session holds: text, step, and what they came with."""
    return [(note["text"], note["step"], note["source"]) for note in recorded(session)["notes"]]


def test_a_report_carries_a_note_that_is_shown_when_the_session_is_resumed() -> None:
    put_skill("small")
    session = told("step", "small", "--new")["session"]

    told("step", "small", "ok", "--note", " the cache is cold\n")

    assert notes(session) == [("the cache is cold", "first", "report")]
    assert told("sessions", session)["history"][-1]["text"] == "the cache is cold"
    assert "ok; note: the cache is cold" in flow("sessions", session).out
    assert "Done so far: first (ok; the cache is cold)" in flow("resume", session).out
    assert recorded(session)["state"] == {}
    assert flow("audit", session, "--verify").status == 0


def test_questions_and_answers_carry_notes_too() -> None:
    put_skill("small")
    session = told("step", "small", "--new")["session"]
    asked = (
        b'[{"id": "db", "header": "Store", "text": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]'
    )

    told("ask", session, "-", "--note", "two stores", stdin=asked)
    told("answer", session, "db=A", "--note", "A, because it is small")

    assert notes(session) == [
        ("two stores", "first", "question"),
        ("A, because it is small", "first", "answer"),
    ]
    assert "db=A (relayed by the agent); note: A, because it is small" in flow("sessions", session).out
    assert "Also noted: two stores; A, because it is small." in flow("resume", session).out


def test_a_session_keeps_its_last_fifty_notes_of_a_thousand_characters() -> None:
    put_skill(
        "round",
        "name: NAME\nsteps: [{id: a, title: A, actions: [Do it.], limit: 99, next: {ok: null, iterate: a}}]\n",
    )
    session = told("step", "round", "--new")["session"]
    for number in range(52):
        told("step", "round", "iterate", "--note", f"note {number}")

    status, error = refused("step", "round", "iterate", "--note", "x" * 1_001)

    assert [note[0] for note in notes(session)] == [f"note {number}" for number in range(2, 52)]
    assert (status, error["message"]) == (2, "the note has 1001 characters; the limit is 1000")


def test_sessions_are_listed_by_their_topic_and_records_by_their_conversation() -> None:
    put_skill(
        "topical",
        "name: NAME\nparams: {mode: {type: string, choices: [a, b], default: a}, topic: {type: string}}\n"
        "steps: [{id: first, title: First, actions: [Do it.], next: {ok: null}}]\n",
    )
    answer: dict[str, Any] = within(A, "step", "topical", "--new", "-p", "topic=slow login")

    (item,) = told("sessions")["sessions"]
    (record,) = told("sessions", answer["session"])["history"]

    assert (answer["topic"], item["topic"], item["conversation"]) == ("slow login", "slow login", A)
    assert f"active  slow login  1 of 1: first  {item['active_at']}" in flow("sessions").out
    assert record["conversation"] == A
    assert f"conversation {A[:8]}" in flow("sessions", answer["session"]).out
