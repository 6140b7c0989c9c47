"""A workflow as a picture: one node for each step, one arrow for each pair of nodes."""

from __future__ import annotations

from hypothesis import given
from support.drawn_workflows import FEW, ODD
from support.workflows import step, workflow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.model import NodeKind, Picture
from flowrail.machines.dispatch import Dispatch
from flowrail.machines.gate_config import GateConfig
from flowrail.machines.question import Option, Question
from flowrail.machines.step import Rule
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome


def kinds(drawn: Picture) -> dict[str, NodeKind]:
    return {node.id: node.kind for node in drawn.nodes}


@FEW
@given(ODD)
def test_every_transition_to_a_step_that_exists_is_drawn_once(definition: Workflow) -> None:
    steps = {step.id: step for step in reversed(definition.steps)}
    targets = [target for step in steps.values() for target in step.transitions.values()]

    arrow_count = sum(len(arrow.every) for arrow in picture(definition).arrows)

    assert arrow_count == sum(target is None or target in steps for target in targets)


def test_every_kind_of_step_has_its_own_node() -> None:
    asks = Question("go", "Go", "Go?", (Option("Yes", outcome="ok"), Option("No", outcome="fail")))
    drawn = picture(
        workflow(
            step("plain", next={"ok": "rules"}),
            step("rules", rules=[Rule("ok")], next={"ok": "handler"}, when="mode == 'full'"),
            step("handler", handler=lambda _: Outcome.OK, next={"ok": "ask"}),
            step("ask", questions=[asks], next={"ok": "one", "fail": None}),
            step("one", dispatch=Dispatch("explore", prompt=("Look.",)), next={"ok": "many"}),
            step(
                "many",
                dispatch=Dispatch("explore", workflow="w/look", over=("a", "b"), join="any"),
                next={"ok": "gate", "fail": "gate"},
            ),
            step("gate", gate=GateConfig("Gate", review="many", limit=3), next={"ok": None, "fail": "plain"}),
            params={"mode": Arg(default="full")},
        )
    )

    assert kinds(drawn) == {
        ":start": NodeKind.START,
        "plain": NodeKind.STEP,
        "rules": NodeKind.DECIDE,
        "handler": NodeKind.DECIDE,
        "ask": NodeKind.ASK,
        "ask:failed": NodeKind.FAILED,
        "one": NodeKind.AGENT,
        "many": NodeKind.AGENTS,
        "gate": NodeKind.GATE,
        "gate:completed": NodeKind.COMPLETED,
    }
    notes = {node.id: node.notes for node in drawn.nodes if node.notes}
    assert notes == {
        "rules": ("only when mode == 'full'",),
        "ask": ("asks the user",),
        "one": ("agent explore",),
        "many": ("2 agents explore, join any", "runs w/look"),
        "gate": ("gate on many",),
    }
