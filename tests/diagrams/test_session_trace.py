"""A session shown on its workflow: its current step, the transitions that it took, the steps that are left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.records import at, records
from support.workflows import loop, step, workflow

from flowrail.diagrams.model import Picture, ShownSession
from flowrail.diagrams.renderers import markdown, mermaid, svg
from flowrail.diagrams.session_trace import session_picture
from flowrail.machines.session_record import Record
from flowrail.machines.workflow import Workflow


def drawn(definition: Workflow, *outcomes: str, **params: Any) -> Picture:
    return session_picture(definition, records(definition, *outcomes, **params))


def entered(shown: Picture) -> dict[str, int]:
    return {node.id: node.entered for node in shown.nodes if node.is_step}


def states(shown: Picture) -> dict[str, str]:
    return {node.id: node.state for node in shown.nodes if node.is_step}


def taken(shown: Picture) -> dict[tuple[str, str], int]:
    return {(arrow.source, arrow.target): arrow.taken for arrow in shown.arrows[1:] if arrow.taken}


def test_visits_times_and_transitions_are_counted() -> None:
    shown = drawn(loop(3), "iterate", "iterate", "ok")

    assert shown.session == ShownSession("dull-a1b2c3", "active", "last")
    assert entered(shown) == {"look": 3, "last": 1}
    assert [node.seconds for node in shown.nodes if node.is_step] == [270.0, None]
    assert taken(shown) == {("look", "look"): 2, ("look", "last"): 1}


def test_reachable_steps_are_left_and_the_others_are_off() -> None:
    definition = workflow(
        step("first", next={"ok": "left", "skip": "right"}),
        step("left", next={"ok": "last"}),
        step("right", next={"ok": "last"}),
        step("last"),
    )

    assert states(drawn(definition, "skip")) == {
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
    shown = session_picture(definition, [*moves, rewind])

    assert entered(shown) == {"first": 2, "second": 1, "last": 1}
    assert states(shown) == {"first": "here", "second": "done", "last": "done"}


def test_every_format_shows_the_session() -> None:
    shown = drawn(loop(3), "iterate")

    assert "classDef here" in mermaid.render(shown)
    assert '==>|"fail / iterate (at most 3 attempts, then the user decides / ok) · once"|' in mermaid.render(
        shown
    )
    assert 'class="node step here"' in svg.render(shown)
    assert "here now, entered twice" in svg.render(shown)
    assert "here now, entered twice, 1 min 30 s" in markdown.render(shown)
