"""The board: which sessions need a person, run, stall or have ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.sandbox import put_skill, told
from support.web import APPROVAL

from flowrail.operations.board import Board, Group
from flowrail.operations.environment import Environment


def started(version: str = "1.4.0") -> str:
    put_skill("release", APPROVAL)
    return str(told("step", "release", "--new", "-p", f"version={version}")["session"])


def report(session: str, *outcomes: str) -> None:
    for outcome in outcomes:
        told("step", "release", outcome, "--session", session)


def after(minutes: int) -> str:
    return (datetime.now(UTC) + timedelta(minutes=minutes)).isoformat()


def test_a_session_without_a_report_for_half_an_hour_is_stalled() -> None:
    session = started()
    board = Board(Environment().store)

    assert board.refresh(after(minutes=29))[0].group is Group.RUNNING
    assert board.refresh(after(minutes=31))[0].group is Group.STALLED

    report(session, "ok")

    assert board.refresh(after(minutes=31))[0].group is Group.NEEDS_YOU


@pytest.mark.every_store
def test_an_entry_names_topic_step_attempt_and_open_question() -> None:
    session = started("2.0.0")
    board = Board(Environment().store)
    report(session, "iterate")

    looping = board.refresh(after(minutes=0))[0]
    report(session, "ok")
    waiting = board.refresh(after(minutes=0))[0]

    assert (looping.topic, looping.skill) == ("2.0.0", "release")
    assert looping.position is not None
    assert (looping.position.number, looping.position.total) == (1, 3)
    assert (looping.position.attempt, looping.position.limit) == (2, 3)
    assert waiting.reason == "Publish it?"
    assert [option.label for option in waiting.questions[0].options] == ["Yes", "No"]


def test_the_most_recent_session_comes_first_within_its_group() -> None:
    first, second = started("1"), started("2")
    board = Board(Environment().store)
    report(first, "iterate")

    assert [entry.session for entry in board.refresh(after(minutes=0))] == [first, second]
