"""What an author writes: values that cannot change, and what follows from them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Annotated, Any

import pytest
from support.workflows import linear, step, workflow

from flowrail.machines.definition.delegation import AgentRole, Dispatch
from flowrail.machines.definition.frozen import Frozen
from flowrail.machines.definition.gates import (
    POLICIES,
    GateConfig,
    LoopState,
    QRState,
    QRStatus,
    Severity,
    blocking_severities,
)
from flowrail.machines.definition.step import Outcome, Rule, StepContext, StepDef, Variant, handler_signature
from flowrail.machines.definition.values import Arg

# --- steps


def test_a_step_is_frozen_all_the_way_down() -> None:
    ways = {"ok": None}
    actions = ["look"]
    here = step(next=ways, actions=actions, reports={"x": {"type": "list"}}, rules=[{"outcome": "ok"}])
    ways["fail"] = None
    actions.append("more")

    assert here.next == {Outcome.OK: None}
    assert here.actions == ("look",)
    assert here.reports == {"x": Arg(type="list")}
    assert isinstance(here.next, Frozen)
    assert hash(here) == hash(replace(here))
    with pytest.raises(FrozenInstanceError):
        here.title = "other"  # type: ignore[misc]
    with pytest.raises(TypeError):
        here.next["ok"] = "b"


def test_rules_and_variants_may_be_written_in_several_ways() -> None:
    here = step(
        rules=[
            {"if": "visit > 3", "outcome": "ok"},
            {"when": "a", "outcome": Outcome.FAIL},
            ("skip", None),
            Rule("ok"),
        ],
        variants=[("visit > 1", "Again"), Variant("visit > 2", ("And", "again"))],
        actions="one text",
    )

    assert here.rules == (Rule("ok", "visit > 3"), Rule("fail", "a"), Rule("skip"), Rule("ok"))
    assert here.variants == (Variant("visit > 1", ("Again",)), Variant("visit > 2", ("And", "again")))
    assert here.actions == ("one text",)


def test_a_step_decides_by_rules_or_by_a_function_and_not_by_an_agent() -> None:
    assert step(rules=[("ok", None)]).decides
    assert step(handler=lambda _: Outcome.OK).decides
    assert not step(handler=Dispatch("explore")).decides
    assert not step().decides


def test_a_step_knows_the_line_it_was_written_in() -> None:
    here = StepDef("a")

    assert here.origin is not None
    assert here.origin.startswith(f"{__file__}:")
    assert here == StepDef("a")
    assert "origin" not in repr(here)


# --- workflows


def test_a_workflow_cannot_be_changed() -> None:
    definition = linear("a")

    with pytest.raises(AttributeError, match="cannot be changed: `name`"):
        definition.name = "other"
    with pytest.raises(AttributeError, match="cannot be changed"):
        del definition.steps
    with pytest.raises(AttributeError):
        definition.unheard_of = 1
    with pytest.raises(TypeError):
        definition.params["x"] = Arg()


# --- handlers


def handler(
    ctx: StepContext,
    mode: Annotated[str, Arg(description="Workflow mode", choices=("quick", "full"))] = "full",
    size: Annotated[int, Arg(min=1, max=5)] = 3,
    topics: Annotated[list[str], "no Arg", Arg()] = (),  # type: ignore[assignment]
    plain: str = "",
    *rest: Any,
    needed: int,
    **more: Any,
) -> Outcome:
    return Outcome.OK


def test_what_a_handler_takes_is_read_from_its_signature() -> None:
    found = handler_signature(handler)

    mode, size, topics = found["mode"], found["size"], found["topics"]
    assert isinstance(mode, Arg)
    assert isinstance(size, Arg)
    assert isinstance(topics, Arg)
    assert (mode.default, mode.choices, mode.kind, mode.description) == (
        "full",
        ("quick", "full"),
        "string",
        "Workflow mode",
    )
    assert (size.default, size.kind, topics.kind) == (3, "integer", "list")
    assert (found["plain"], found["needed"]) == (True, False)
    assert len(found) == 5


def test_a_handlers_parameters_are_the_workflows_unless_a_step_reports_them() -> None:
    own = workflow(
        step(handler=handler, reports={"needed": Arg(), "size": Arg(max=9)}), params={"mode": Arg()}
    )

    assert list(own.params) == ["mode", "topics"]
    assert own.params["mode"].choices is None
    assert list(own._params["only"]) == ["mode", "size", "topics"]
    assert own._step_order == ("only",)


# --- agents and gates


def blocked(rounds: range, **policy: Any) -> list[str]:
    initials = {Severity.MUST: "M", Severity.SHOULD: "S", Severity.COULD: "C"}
    return [
        "".join(initials[each] for each in Severity if each in blocking_severities(at, **policy))
        for at in rounds
    ]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("1-2 / 3-4 / 5+", ["MSC", "MSC", "MS", "MS", "M", "M"]),
        ("1-3 / 4 / 5+", ["MSC", "MSC", "MSC", "MS", "M", "M"]),
        ("1-2 / 3 / 4+", ["MSC", "MSC", "MS", "M", "M", "M"]),
    ],
)
def test_fewer_severities_block_in_later_rounds(policy: str, expected: list[str]) -> None:
    assert blocked(range(1, 7), policy=POLICIES[policy]) == expected


def test_the_policy_of_the_seed_is_the_default_and_rounds_count_from_one() -> None:
    assert blocked(range(1, 7)) == blocked(range(1, 7), policy=POLICIES["1-2 / 3-4 / 5+"])
    with pytest.raises(ValueError, match="count from 1, not 0"):
        blocking_severities(0)


@pytest.mark.parametrize(
    ("state", "loop_state", "passed"),
    [
        (QRState(), LoopState.INITIAL, False),
        (QRState(iteration=1, failed=True), LoopState.RETRY, False),
        (QRState(iteration=2), LoopState.RETRY, False),
        (QRState(iteration=2, failed=True, status="fail"), LoopState.RETRY, False),
        (QRState(iteration=2, status=QRStatus.PASS), LoopState.COMPLETE, True),
    ],
)
def test_a_review_loop_knows_where_it_stands(state: QRState, loop_state: LoopState, *, passed: bool) -> None:
    assert (state.state, state.passed) == (loop_state, passed)


def test_a_gate_is_as_the_seed_shows_it() -> None:
    gate = GateConfig(
        qr_name="Implementation Review",
        work_step=1,
        pass_step=4,
        pass_message="Implementation verified",
        self_fix=True,
        fix_target=AgentRole.DEVELOPER,
    )

    assert (gate.pass_step, gate.fix_target) == (4, "developer")
