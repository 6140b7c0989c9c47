"""A session shown on its workflow: its current step, the transitions that it took, the steps that are left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.records import at, records
from support.workflows import loop, step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import Picture
from flowrail.diagrams.renderers import mermaid, svg
from flowrail.diagrams.renderers.json import as_data
from flowrail.diagrams.session_trace import with_trace
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.sessions.record import Record


def drawn(definition: Workflow, *outcomes: str, **params: Any) -> Picture:
    return with_trace(picture(definition), records(definition, *outcomes, **params))


def test_visits_times_and_transitions_are_counted() -> None:
    shown = drawn(loop(3), "iterate", "iterate", "ok")
    trace = shown.trace
    assert trace is not None

    assert (trace.session, trace.status, trace.current) == ("dull-a1b2c3", "active", "last")
    assert trace.visits == {"look": 3, "last": 1}
    assert trace.seconds == {"look": 270.0}
    assert trace.taken == {("look", "look"): 2, ("look", "last"): 1}


def test_reachable_steps_are_left_and_the_others_are_off() -> None:
    definition = workflow(
        step("first", next={"ok": "left", "skip": "right"}),
        step("left", next={"ok": "last"}),
        step("right", next={"ok": "last"}),
        step("last"),
    )
    shown = drawn(definition, "skip")
    trace = shown.trace
    assert trace is not None

    assert {node.id: trace.state(node) for node in shown.nodes if node.is_step} == {
        "first": "done",
        "left": "off",
        "right": "here",
        "last": "left",
    }


def test_a_step_that_was_left_by_going_back_was_entered_and_is_done() -> None:
    definition = workflow(
        step("first", next={"ok": "second"}), step("second", next={"ok": "last"}), step("last")
    )
    moves = records(definition, "ok", "ok")
    session = replace(moves[0].session, revision=3)
    rewind = Record(3, "rewind", at(600), "me", session, {"from": 2, "to": 0}, "", "")
    trace = with_trace(picture(definition), [*moves, rewind]).trace
    assert trace is not None

    assert trace.visits == {"first": 2, "second": 1, "last": 1}
    assert {node.id: trace.state(node) for node in picture(definition).nodes if node.is_step} == {
        "first": "here",
        "second": "done",
        "last": "done",
    }


def test_skipped_steps_are_part_of_the_path() -> None:
    definition = workflow(
        step("first", next={"ok": "maybe"}),
        step("maybe", when="mode == 'full'", next={"ok": "last", "skip": "last"}),
        step("last"),
        params={"mode": {"default": "full"}},
    )
    trace = drawn(definition, "ok", mode="quick").trace
    assert trace is not None

    assert trace.taken == {("first", "maybe"): 1, ("maybe", "last"): 1}
    assert trace.visits == {"first": 1, "last": 1}


def test_every_format_shows_the_session() -> None:
    definition = loop(3)
    shown = drawn(definition, "iterate")

    assert "classDef here" in mermaid.render(shown)
    assert '==>|"fail / iterate (at most 3 attempts) · once"|' in mermaid.render(shown)
    assert 'class="node step here"' in svg.render(shown)
    assert "here now, entered twice, 1 min 30 s" in svg.render(shown).replace("</text>", " ")
    data = as_data(shown)["session"]
    assert data["taken"] == [{"from": "look", "to": "look", "times": 1}]
    assert [step_data["state"] for step_data in data["steps"]] == ["here", "left"]
