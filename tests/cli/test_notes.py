"""Notes: texts that come with a report, kept with the session apart from its facts, and shown when it is resumed."""

from __future__ import annotations

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
