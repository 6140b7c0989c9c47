"""Reports for people: every kind of record of a session, every part of a workflow."""

from __future__ import annotations

from typing import Any

import pytest
from support.sandbox import flow
from support.workflows import step, workflow

from flowrail.formatters.reports.history import entries, report
from flowrail.machines.session_record import Record
from flowrail.machines.transition import start
from flowrail.operations.environment import Environment
from flowrail.text.report import plain_text

NOTES: dict[str, tuple[dict[str, Any], str]] = {
    "start": ({}, ""),
    "rewind": ({"from": 3, "to": 1, "reason": "wrong"}, "from revision 3 to 1 (wrong)"),
    "rewind-as-new": ({"from": {"session": "a-1", "revision": 2}}, "from a-1, revision 2"),
    "limit": ({}, "fail at the limit; the user is asked"),
    "held": ({"times": 2}, "kept from ending its turn, time 2"),
    "released": ({}, "the conversation ended"),
    "migrate": ({"changes": ["`a` is gone", "`b` is new"]}, "`a` is gone; `b` is new"),
    "again": (
        {"replaced": "x-abcdef.0.1", "child": "x-abcdef.0.1-2"},
        "x-abcdef.0.1-2 replaces x-abcdef.0.1",
    ),
    "refused": ({"claim": "ok", "missing": ["notes"]}, "claimed ok: lacks notes"),
    "waive": ({"check": "notes", "reason": "late"}, "notes (late)"),
    "ask": ({"questions": ["q1", "q2"]}, "q1 q2"),
    "answer": ({"answers": {"q1": ["Yes", "No"]}}, "q1=Yes q1=No"),
    "finding": ({"finding": "F1"}, "F1"),
    "abandon": ({"reason": "enough"}, "enough"),
}


@pytest.mark.parametrize("kind", NOTES)
def test_a_history_describes_each_record(kind: str) -> None:
    note, text = NOTES[kind]
    session = start(workflow(step("look")), session_id="dull-abc234", now="2026-01-02T12:00:00Z")
    record = Record(0, kind, "2026-01-02T12:00:00Z", "an agent", session, note, "")

    (entry,) = entries([record])

    assert entry.description == text
    assert " ".join([kind, *text.split(), "look"]) in " ".join(plain_text(report([entry])).split())


@pytest.mark.parametrize("skill", ["planner", "perspective-swarm", "incoherence"])
def test_a_workflow_is_shown_with_its_agents_questions_and_gates(skill: str) -> None:
    shown = Environment().loader.load(skill).definition

    text = flow("show", skill).out

    for declared in shown.steps:
        assert f"{declared.id}  " in text
        if declared.work:
            assert str(declared.work.agent) in text.partition("\nDispatches\n")[2]
        for question in declared.questions:
            assert question.header in text.partition("\nQuestions to the user\n")[2]
        if declared.gate:
            assert declared.gate.name in text.partition("\nGates\n")[2]
