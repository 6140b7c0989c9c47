"""What an agent found and asks to remember: kept with the session, apart from its facts."""

from __future__ import annotations

from typing import Any

from support.hooks import A, within
from support.sandbox import flow, put_skill, recorded, told


def memory(session: str) -> list[tuple[str, str, str]]:
    """Return the memories that a session holds: kind, text, step."""
    held = recorded(session)["memory"]
    return [(entry["kind"], entry["text"], entry["step"]) for entry in held]


def test_a_report_carries_what_was_found_and_what_to_remember() -> None:
    put_skill("small")
    session = told("step", "small", "--new")["session"]

    told("step", "small", "ok", "--found", " the cache is cold\n", "--remember", "the user wants MySQL")

    assert memory(session) == [
        ("found", "the cache is cold", "first"),
        ("remember", "the user wants MySQL", "first"),
    ]
    record = told("history", session)["steps"][-1]
    assert (record["found"], record["remember"]) == ("the cache is cold", "the user wants MySQL")
    assert "ok; found: the cache is cold; remember: the user wants MySQL" in flow("history", session).out
    assert recorded(session)["state"] == {}
    assert flow("session", "verify", session).status == 0


def test_questions_and_answers_carry_them_too() -> None:
    put_skill("small")
    session = told("step", "small", "--new")["session"]
    asked = (
        b'[{"id": "db", "header": "Store", "text": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]'
    )

    told("ask", session, "-", "--found", "two stores", stdin=asked)
    told("answer", session, "db=A", "--remember", "A, because it is small")

    assert [entry[:2] for entry in memory(session)] == [
        ("found", "two stores"),
        ("remember", "A, because it is small"),
    ]
    assert "db=A; remember: A, because it is small" in flow("history", session).out
    assert flow("session", "verify", session).status == 0


def test_sessions_are_listed_by_their_topic_and_records_by_their_conversation() -> None:
    put_skill(
        "topical",
        "name: NAME\nparams: {mode: {type: string, choices: [a, b], default: a}, topic: {type: string}}\n"
        "steps: [{id: first, title: First, actions: [Do it.], next: {ok: null}}]\n",
    )
    answer: dict[str, Any] = within(A, "step", "topical", "--new", "-p", "topic=slow login")

    (item,) = told("sessions")["sessions"]
    (record,) = told("history", answer["session"])["steps"]

    assert (answer["topic"], item["topic"], item["conversation"]) == ("slow login", "slow login", A)
    assert "active  slow login  1 of 1: first  just now" in flow("sessions").out
    assert record["conversation"] == A
    assert f"conversation {A[:8]}" in flow("history", answer["session"]).out
