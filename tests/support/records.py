"""Journals of sessions with a clock that a test sets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from flowrail.machines.session import Report
from flowrail.machines.session_record import Record
from flowrail.machines.transition import advance, start
from flowrail.machines.workflow import Workflow


def records(made: Workflow, *reports: str | Report, seconds: int = 90, **params: Any) -> list[Record]:
    """Return the journal of a session in which each step took *seconds*."""
    session = replace(start(made, params), id=f"{made.name.replace('/', '-')}-a1b2c3")
    found = [Record(0, "start", at(0), "me", session, {}, "", "")]
    for number, report in enumerate(reports, start=1):
        session = advance(made, session, report if isinstance(report, Report) else Report(report))
        found.append(Record(number, "move", at(number * seconds), "me", session, {}, "", ""))
    return found


def at(second: int) -> str:
    """Return the time this many seconds after ten o'clock."""
    return f"2026-02-04T{10 + second // 3600:02d}:{second // 60 % 60:02d}:{second % 60:02d}.000Z"
