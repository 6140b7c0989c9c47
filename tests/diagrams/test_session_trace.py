"""A session laid over its workflow: where it is, the way it took, what is left."""

from __future__ import annotations

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


def drawn(made: Workflow, *outcomes: str, **params: Any) -> Picture:
    return with_trace(picture(made), records(made, *outcomes, **params))


def test_visits_times_and_ways_are_counted() -> None:
    seen = drawn(loop(3), "iterate", "iterate", "ok")
    trace = seen.trace
    assert trace is not None

    assert (trace.session, trace.status, trace.current) == ("dull-a1b2c3", "active", "last")
    assert trace.visits == {"look": 3, "last": 1}
    assert trace.seconds == {"look": 270.0}
    assert trace.taken == {("look", "look"): 2, ("look", "last"): 1}


def test_what_can_still_come_is_left_and_the_rest_is_out_of_reach() -> None:
    made = workflow(
        step("first", next={"ok": "left", "skip": "right"}),
        step("left", next={"ok": "last"}),
        step("right", next={"ok": "last"}),
        step("last"),
    )
    seen = drawn(made, "skip")
    trace = seen.trace
    assert trace is not None

    assert {node.id: trace.state(node) for node in seen.nodes if node.is_step} == {
        "first": "done",
        "left": "off",
        "right": "here",
        "last": "left",
    }


def test_a_step_that_was_left_by_going_back_was_entered_and_is_done() -> None:
    made = workflow(step("first", next={"ok": "second"}), step("second", next={"ok": "last"}), step("last"))
    taken = records(made, "ok", "ok")
    back = taken[0].session._replace(revision=3)
    gone = Record(3, "rewind", at(600), "me", back, {"from": 2, "to": 0}, "", "")
    trace = with_trace(picture(made), [*taken, gone]).trace
    assert trace is not None

    assert trace.visits == {"first": 2, "second": 1, "last": 1}
    assert {node.id: trace.state(node) for node in picture(made).nodes if node.is_step} == {
        "first": "here",
        "second": "done",
        "last": "done",
    }


def test_steps_that_were_passed_over_lie_on_the_way() -> None:
    made = workflow(
        step("first", next={"ok": "maybe"}),
        step("maybe", when="mode == 'full'", next={"ok": "last", "skip": "last"}),
        step("last"),
        params={"mode": {"default": "full"}},
    )
    trace = drawn(made, "ok", mode="quick").trace
    assert trace is not None

    assert trace.taken == {("first", "maybe"): 1, ("maybe", "last"): 1}
    assert trace.visits == {"first": 1, "last": 1}


def test_every_language_shows_it() -> None:
    made = loop(3)
    seen = drawn(made, "iterate")

    assert "classDef here" in mermaid.render(seen)
    assert '==>|"fail / iterate (at most 3 times) · once"|' in mermaid.render(seen)
    assert 'class="node step here"' in svg.render(seen)
    assert "here now, entered twice, 1 min 30 s" in svg.render(seen).replace("</text>", " ")
    data = as_data(seen)["session"]
    assert data["taken"] == [{"from": "look", "to": "look", "times": 1}]
    assert [each["state"] for each in data["steps"]] == ["here", "left"]
