"""What an author writes: values that cannot change, and what follows from them."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, replace
from typing import Annotated, Any

import pytest
from support.workflows import linear, loop, step, unchecked, workflow

from flowrail.machines.definition.delegation import AgentRole, Dispatch
from flowrail.machines.definition.frozen import Frozen
from flowrail.machines.definition.gates import (
    POLICIES,
    Confidence,
    DocumentAvailability,
    GateConfig,
    LoopState,
    QRState,
    QRStatus,
    Severity,
    blocking_severities,
)
from flowrail.machines.definition.step import Outcome, Rule, StepContext, StepDef, Variant, handler_signature
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow

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


def test_outcomes_may_be_written_as_words() -> None:
    assert step(next={"ok": None, "_default": "a"}) == step(next={Outcome.OK: None, Outcome.DEFAULT: "a"})


def test_what_is_no_outcome_is_kept_as_written_for_the_checks() -> None:
    assert dict(step(next={"okay": None, 3: "a"}).next) == {"okay": None, 3: "a"}


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


def test_ways_spell_out_the_default_in_a_fixed_order() -> None:
    here = step(next={"_default": "b", "fail": None, "okay": "c"})

    assert list(here.ways.items()) == [("ok", "b"), ("fail", None), ("skip", "b"), ("iterate", "b")]
    assert here.way(Outcome.FAIL) is None
    with pytest.raises(KeyError):
        step().way(Outcome.FAIL)


def test_a_step_decides_by_rules_or_by_a_function_and_not_by_an_agent() -> None:
    assert step(rules=[("ok", None)]).decides
    assert step(handler=lambda _: Outcome.OK).decides
    assert not step(handler=Dispatch("explore")).decides
    assert not step().decides


def test_a_step_is_named_by_its_title_or_else_its_id() -> None:
    assert [step("a", title=title).name for title in ("Look", "", lambda _: "x")] == ["Look", "a", "a"]


def test_a_step_knows_the_line_it_was_written_in() -> None:
    here = StepDef("a")

    assert here.origin is not None
    assert here.origin.startswith(f"{__file__}:")
    assert here == StepDef("a")
    assert "origin" not in repr(here)


# --- workflows


def test_a_workflow_is_looked_at_by_id_and_by_place() -> None:
    definition = linear("a", "b", "c", description="Three")

    assert (definition.total_steps, definition.entry_point, definition.description) == (3, "a", "Three")
    assert (definition.number("a"), definition.number("c")) == (1, 3)
    assert "b" in definition
    assert "d" not in definition
    assert definition.step("b") is definition.get("b")
    assert (definition.get("d"), definition.get(None)) == (None, None)
    with pytest.raises(KeyError):
        definition.step("d")
    assert repr(definition) == "Workflow('dull', 3 steps)"


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


def test_workflows_are_told_apart_and_can_be_keys() -> None:
    one, other = linear("a"), linear("a")

    assert one != other
    assert {one: 1, other: 2}[one] == 1


def test_of_two_steps_of_one_id_the_first_is_found() -> None:
    definition = unchecked(step("a", title="First"), step("a", title="Second"))

    assert definition.step("a").title == "First"
    assert definition.total_steps == 2


def test_a_workflow_knows_the_line_it_was_written_in() -> None:
    here = Workflow("dull", step())

    assert here.origin is not None
    assert here.origin.startswith(f"{__file__}:")
    assert Workflow("dull", step(), origin="workflow.yaml:1").origin == "workflow.yaml:1"


def test_a_definition_without_steps_starts_nowhere() -> None:
    assert Workflow("dull", validate=False).entry_point is None


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


def test_the_default_of_an_arg_stands_before_that_of_the_signature() -> None:
    def other(ctx: StepContext, mode: Annotated[str, Arg(default="quick", type="list")] = "full") -> Outcome:
        return Outcome.OK

    other.__annotations__["mode"] = Annotated[str, Arg(default="quick", type="list")]
    arg = handler_signature(other)["mode"]

    assert isinstance(arg, Arg)
    assert (arg.default, arg.kind) == ("quick", "list")


@pytest.mark.parametrize("odd", [None, 5, Dispatch("explore"), dict, lambda: 1])
def test_what_has_no_signature_takes_nothing(odd: Any) -> None:
    assert handler_signature(odd) == {}


def test_a_handlers_parameters_are_the_workflows_unless_a_step_reports_them() -> None:
    own = workflow(
        step(handler=handler, reports={"needed": Arg(), "size": Arg(max=9)}), params={"mode": Arg()}
    )

    assert list(own.params) == ["mode", "topics"]
    assert own.params["mode"].choices is None
    assert list(own._params["only"]) == ["mode", "size", "topics"]
    assert own._step_order == ("only",)


def test_a_context_is_read_only() -> None:
    state = {"areas": ["a"]}
    context = StepContext("a", {"mode": "full"}, state)
    state["areas"].append("b")

    assert (context.step_id, context.visit, context.limit) == ("a", 1, None)
    assert context.step_state == {"areas": ("a",)}
    assert context.workflow_params.get("mode", "x") == "full"
    with pytest.raises(TypeError):
        context.step_state["areas"] = ()  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        context.visit = 2  # type: ignore[misc]


# --- agents and gates


def test_a_dispatch_is_frozen_and_its_agent_one_that_exists() -> None:
    dispatch = Dispatch(
        AgentRole.QUALITY_REVIEWER, "planner/review", context_vars={"dimension": "naming"}, free_form=True
    )

    assert (
        Dispatch("quality-reviewer", "planner/review", context_vars={"dimension": "naming"}, free_form=True)
        == dispatch
    )
    assert hash(dispatch) == hash(replace(dispatch))
    with pytest.raises(TypeError):
        dispatch.context_vars["x"] = 1  # type: ignore[index]


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


def test_a_verdict_is_one_of_two() -> None:
    with pytest.raises(ValueError, match="maybe"):
        QRState(status="maybe")


def test_names_are_the_values_that_agents_use() -> None:
    assert [str(each) for each in AgentRole] == [
        "explore",
        "general-purpose",
        "developer",
        "quality-reviewer",
        "technical-writer",
    ]
    assert [str(each) for each in Confidence] == ["exploring", "low", "medium", "high", "certain"]
    assert [str(each) for each in DocumentAvailability] == ["provided", "exists", "missing"]
    assert [str(each) for each in Outcome] == ["ok", "fail", "skip", "iterate", "_default"]


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


def test_a_loop_has_a_bound_where_its_step_has_a_limit() -> None:
    assert loop(limit=2).step("look").limit == 2
