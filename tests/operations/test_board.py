"""The board: which sessions need a person, run, stall or have ended."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

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
