"""A workflow as a statechart class: usable by itself, and out of every trap that the engine has.

The tests called `the engine …` show the trap on the engine alone, so that we notice when it changes.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from statemachine import State, StateChart
from statemachine.exceptions import InvalidDefinition, StateMachineError
from statemachine.factory import StateMachineMetaclass
from support.counting import calls_of
from support.workflows import NAMES, linear, long, loop, step, unchecked, workflow

from flowrail.machines.checks.check import check_workflow
from flowrail.machines.definition import graph
from flowrail.machines.definition.findings import WorkflowError
from flowrail.machines.definition.step import Outcome, StepContext
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.engine.errors import StepGoneError
from flowrail.machines.engine.statechart import (
    COMPLETED,
    FAILED,
    MachineState,
    WorkflowMachine,
    compile_workflow,
    event_name,
    position,
    state_name,
)
from flowrail.machines.sessions.session import Report, Session

STRICT: dict[str, Any] = {
    "allow_event_without_transition": False,
    "catch_errors_as_events": False,
    "atomic_configuration_update": True,
}


def chart(**body: Any) -> type[StateChart[Any]]:
    """Return a class of the engine's own, without anything of ours."""
    made: type[StateChart[Any]] = StateMachineMetaclass("Chart", (StateChart,), {**STRICT, **body})  # type: ignore[assignment]
    return made


def two_states(**more: Any) -> type[StateChart[Any]]:
    one, two = State("one", initial=True), State("two", final=True)
    return chart(one=one, two=two, go=one.to(two), **more)


class Model:
    def __init__(self, state: str | None = None) -> None:
        self.state = state


# --- the class


def test_a_compiled_workflow_is_a_statechart_and_the_same_one_each_time() -> None:
    definition, other = linear("a", "b"), linear("a", "b")

    machine = compile_workflow(definition)

    assert issubclass(machine, StateChart)
    assert compile_workflow(definition) is machine
    assert compile_workflow(other) is not machine
    assert machine.workflow is definition
    assert (machine.allow_event_without_transition, machine.catch_errors_as_events) == (False, False)
    assert machine.atomic_configuration_update


def test_states_are_steps_and_events_are_outcomes() -> None:
    machine = compile_workflow(loop(limit=None))

    assert {state.id: state.value for state in machine.states} == {
        "step_look": "look",
        "step_last": "last",
        "end_completed": ":completed",
    }
    assert {event.id for event in machine._events} == {
        "report_ok",
        "report_fail",
        "report_skip",
        "report_iterate",
    }
    assert (state_name("look"), event_name("ok"), event_name(Outcome.FAIL)) == (
        "step_look",
        "report_ok",
        "report_fail",
    )


def test_a_machine_is_used_without_our_sessions() -> None:
    machine = compile_workflow(loop(limit=2))()

    walked = [position(machine)]
    for event in ("report_iterate", "report_iterate", "report_ok"):
        machine.send(event)
        walked.append(position(machine))

    assert walked == ["look", "look", "last", None]
    assert (machine.current_state_value, machine.is_terminated) == (COMPLETED, True)
    assert machine.model.visits == {"look": 2, "last": 1, ":completed": 1}


def test_a_machine_by_itself_has_the_defaults_of_the_parameters() -> None:
    definition = workflow(
        step("a", next={"ok": "b"}),
        step("b", when="mode == 'full'"),
        params={"mode": Arg(choices=("quick", "full"), default="full"), "topic": Arg()},
    )

    machine, quick = (
        compile_workflow(definition)(),
        compile_workflow(definition)(MachineState({"mode": "quick"})),
    )
    machine.send("report_ok")
    quick.send("report_ok")

    assert (position(machine), position(quick)) == ("b", None)


def test_a_listener_hears_of_every_step() -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[str] = []

        def after_transition(self, event: str, source: State, target: State) -> None:
            self.heard.append(f"{source.value} {event} {target.value}")

        def on_enter_step_last(self) -> None:
            self.heard.append("last")

    listener = Listener()
    machine = compile_workflow(loop())()
    machine.add_listener(listener)  # type: ignore[no-untyped-call]

    for event in ("report_fail", "report_ok", "report_ok"):
        machine.send(event)

    assert listener.heard == [
        "look report_fail look",
        "last",
        "look report_ok last",
        "last report_ok :completed",
    ]


def test_the_engine_draws_a_compiled_workflow() -> None:
    drawn = format(compile_workflow(loop()), "mermaid")

    assert drawn.startswith("stateDiagram-v2")
    assert "step_look --> step_last : Report ok" in drawn
    assert "[limit_reached]" in drawn
    assert format(compile_workflow(workflow(step("a-b", title='"A" [b] {c}'))), "mermaid")


def test_the_name_and_the_description_are_the_workflows() -> None:
    machine = compile_workflow(linear("a", name="problem-analysis/look", description="Looks."))

    assert (machine.__name__, machine.__doc__) == ("ProblemAnalysisLook", "Looks.")


@pytest.mark.parametrize("outcome", ["ok", "fail"])
def test_only_ends_that_can_be_reached_are_states(outcome: str) -> None:
    machine = compile_workflow(workflow(step(next={outcome: None})))

    assert [state.value for state in machine.final_states] == [FAILED if outcome == "fail" else COMPLETED]


def test_a_description_with_half_a_character_is_no_hindrance() -> None:
    machine = compile_workflow(workflow(description="a \ud800"))

    assert machine.__doc__ == "a ?"
    assert machine.workflow.description == "a \ud800"


def test_an_unchecked_workflow_is_checked_before_it_is_compiled() -> None:
    for broken in (
        unchecked(step(next={"ok": "nowhere"})),
        Workflow("dull", step(next={"ok": "nowhere"}), validate=False),
    ):
        with pytest.raises(WorkflowError):
            compile_workflow(broken)

    assert compile_workflow(Workflow("dull", step(), validate=False))().current_state_value == "only"


# --- names


@pytest.mark.parametrize("name", sorted({*NAMES, "send", "class", "model", "ok", "current_state_value"}))
def test_a_step_may_be_called_anything(name: str) -> None:
    definition = workflow(
        step("first", next={"ok": name}), step(name, next={"ok": "other", "iterate": name}), step("other")
    )

    machine = compile_workflow(definition)()
    for event, stands in [("ok", name), ("iterate", name), ("ok", "other"), ("ok", None)]:
        machine.send(event_name(event))
        assert position(machine) == stands

    session = start(definition)
    for event, stands in [("ok", name), ("iterate", name), ("ok", "other"), ("ok", None)]:
        session = advance(definition, session, Report(event))
        assert session.step == stands


def test_every_attribute_of_a_machine_may_name_a_step() -> None:
    names = sorted(
        name for name in {*dir(compile_workflow(linear("a"))()), *vars(MachineState())} if name[0] != "_"
    )

    definition = linear(*names)
    session = start(definition)
    for _ in names:
        session = advance(definition, session, Report("ok"))

    assert session.status == "completed"
    assert len(names) > 20


def test_a_workflow_may_be_called_send_and_start_at_another_step_than_the_first() -> None:
    definition = workflow(step("a"), step("b", next={"ok": "a"}), name="send", entry_point="b")

    assert start(definition).step == "b"
    assert compile_workflow(definition).__name__ == "Send"


def test_the_engine_loses_a_state_that_is_named_like_an_event() -> None:
    one, ok = State("one", initial=True), State("ok", final=True)

    made = chart(one=one, ok=one.to(ok))

    assert [state.id for state in made.states] == ["one"]


@pytest.mark.parametrize(
    ("name", "error"), [("model", StateMachineError), ("send", TypeError), ("states", TypeError)]
)
def test_the_engine_breaks_on_states_named_like_its_own_attributes(name: str, error: type[Exception]) -> None:
    one, two = State("one", initial=True), State(name, final=True)

    with pytest.raises(error):
        chart(**{"one": one, name: two, "go": one.to(two)})().send("go")


# --- two edges on one event


def test_the_engine_takes_the_first_of_two_edges_in_silence() -> None:
    one, two, three = State("one", initial=True), State("two", final=True), State("three", final=True)
    machine = chart(one=one, two=two, three=three, go=one.to(two) | one.to(three))()

    machine.send("go")

    assert machine.current_state_value == "two"


def test_two_edges_on_one_event_are_guarded_but_the_last() -> None:
    definition = workflow(
        step("a", next={"ok": "b", "iterate": "c"}, limit=2),
        step("b", when="visit > 0", next={"ok": "c", "fail": "a"}, limit=1),
        step("c", when="visit > 1", next={"ok": "d"}),
        step("d", next={"ok": None, "fail": "a"}),
    )

    for state in compile_workflow(definition).states:
        by_event: dict[str, list[Any]] = {}
        for transition in state.transitions:
            by_event.setdefault(str(transition.event), []).append(transition)
        for event, transitions in by_event.items():
            guarded = [bool(list(each.cond)) for each in transitions]
            assert all(guarded[:-1]), (state, event)
            # only what a limit closes has no open last edge
            assert not guarded[-1] or event in {"report_iterate", "report_fail", "report_stop"}


def test_the_order_of_trying_is_below_the_limit_then_at_it_and_along_the_chain() -> None:
    definition = workflow(
        step("a", next={"iterate": "b", "ok": "c"}, limit=1),
        step("b", when="visit < 9", next={"ok": "c"}),
        step("c", when="visit < 9", next={"skip": "d", "ok": "a"}),
        step("d"),
    )

    (state,) = (each for each in compile_workflow(definition).states if each.value == "a")
    ways = [(str(each.event), each.target.value) for each in state.transitions]

    assert [target for event, target in ways if event == "report_iterate"] == ["b", "c", "d", "c", "d"]
    assert [target for event, target in ways if event == "report_ok"] == ["c", "d"]


# --- restored states


def test_the_engine_says_that_a_restored_final_state_is_not_terminated() -> None:
    assert not two_states()(Model("two")).is_terminated


def test_a_session_at_its_end_knows_it_without_asking_the_engine() -> None:
    definition = linear("a")

    session = advance(definition, start(definition), Report("ok"))

    assert (session.step, session.is_open) == (None, False)


def test_the_engine_accepts_an_unknown_stored_state_and_starts_again_from_none() -> None:
    made = two_states()

    assert made(Model("nowhere")).current_state_value == "nowhere"
    assert made(Model(None)).current_state_value == "one"


@pytest.mark.parametrize("stored", ["nowhere", None, "", ":completed", "step_a"])
def test_an_unknown_stored_step_is_refused_and_none_does_not_start_again(stored: str | None) -> None:
    definition = linear("a", "b")
    session = Session(id="dull-x", skill="dull", step=stored, visits={"a": 1})

    with pytest.raises(StepGoneError):
        advance(definition, session, Report("ok"))


# --- errors


def test_the_engine_raises_an_error_of_an_after_callback_when_it_has_moved() -> None:
    def after_go(_: Any) -> None:
        raise ValueError("too late")

    machine = two_states(after_go=after_go)()

    with pytest.raises(ValueError, match="too late"):
        machine.send("go")
    assert machine.current_state_value == "two"


def test_an_error_in_a_guard_leaves_machine_and_session_where_they_were() -> None:
    def when(_: StepContext) -> bool:
        raise ValueError("too early")

    definition = workflow(step("a", next={"ok": "b"}), step("b", when=when))
    machine, session = compile_workflow(definition)(), start(definition)
    before = repr(session)

    with pytest.raises(Exception, match="too early"):
        machine.send("report_ok")
    with pytest.raises(Exception, match="too early"):
        advance(definition, session, Report("ok"))

    assert (position(machine), machine.model.visits) == ("a", {"a": 1})
    assert repr(session) == before


def test_an_error_of_somebodys_listener_cannot_reach_a_session() -> None:
    class Loud:
        def after_transition(self) -> None:
            raise ValueError("too late")

    definition = linear("a", "b")
    compile_workflow(definition)().add_listener(Loud())  # type: ignore[no-untyped-call]

    assert advance(definition, start(definition), Report("ok")).step == "b"


# --- events


def test_the_engine_matches_events_by_dotted_prefix() -> None:
    machine = two_states()()

    machine.send("go.somewhere.else")

    assert machine.current_state_value == "two"


@pytest.mark.parametrize("word", ["ok.fail", "report_ok", "OK", "ok ", "", "*", "_default"])
def test_only_the_exact_outcome_is_one(word: str) -> None:
    definition = linear("a")

    with pytest.raises(Exception, match="is no outcome"):
        advance(definition, start(definition), Report(word))


def test_an_event_without_a_transition_is_refused() -> None:
    machine = compile_workflow(linear("a"))()

    with pytest.raises(machine.TransitionNotAllowed):
        machine.send("report_fail")
    with pytest.raises(machine.TransitionNotAllowed):
        machine.send("no_such_event")
    assert position(machine) == "a"


def test_the_engine_cannot_use_a_terminated_machine_again() -> None:
    machine = two_states()()
    machine.send("go")
    machine.current_state_value = "one"

    with pytest.raises(machine.TransitionNotAllowed):
        machine.send("go")


def test_a_terminated_machine_is_not_used_again() -> None:
    definition = linear("a", "b")

    for _ in range(3):
        session = start(definition)
        for _ in range(2):
            session = advance(definition, session, Report("ok"))
        assert session.status == "completed"


def test_one_report_is_one_event(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []
    send: Callable[..., Any] = WorkflowMachine.send

    def counted(self: WorkflowMachine, event: str, *rest: Any, **more: Any) -> Any:
        sent.append(event)
        return send(self, event, *rest, **more)

    monkeypatch.setattr(WorkflowMachine, "send", counted)
    definition = workflow(
        step("a", next={"ok": "b"}),
        step("b", when="visit > 9", next={"ok": "c"}),
        step("c", when="visit > 9", next={"ok": "d"}),
        step("d"),
    )

    session = advance(definition, start(definition), Report("ok"))

    assert (sent, session.step) == (["report_ok"], "d")


def test_no_state_is_left_without_an_event() -> None:
    machine = compile_workflow(loop())

    assert all(transition.event for state in machine.states for transition in state.transitions)


# --- size


def test_the_engines_own_check_of_final_states_is_off_and_ours_is_in_its_place() -> None:
    one, two, three = State("one", initial=True), State("two"), State("three", final=True)
    body = {
        "one": one,
        "two": two,
        "three": three,
        "go": one.to(three) | one.to(two),
        "stay": two.to(two),
    }

    with pytest.raises(InvalidDefinition):
        chart(**body, validate_final_reachability=True)
    assert not WorkflowMachine.validate_final_reachability
    found = check_workflow(unchecked(step("a", next={"ok": "b", "fail": None}), step("b", next={"ok": "b"})))
    assert [each.code for each in found] == ["FR108"]


def _all_limited(count: int) -> Workflow:
    last = count - 1
    return workflow(
        *(
            step(
                f"s{each}",
                limit=3,
                next={
                    "ok": f"s{each + 1}" if each < last else None,
                    "fail": f"s{max(each - 1, 0)}",
                    "iterate": f"s{each}",
                },
            )
            for each in range(count)
        )
    )


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(long, id="linear"),
        pytest.param(_all_limited, id="limited"),
    ],
)
def test_checking_and_compiling_is_linear(make: Callable[[int], Workflow]) -> None:
    small, large = make(200), make(2000)
    compile_workflow(make(2))  # what happens once has happened

    checks = [calls_of(partial(check_workflow, each)) for each in (small, large)]
    compiles = [calls_of(partial(compile_workflow, each)) for each in (small, large)]

    assert checks[1] < 10.5 * checks[0]
    assert compiles[1] < 10.5 * compiles[0]


def test_a_long_chain_of_steps_that_may_not_apply_is_checked_in_linear_time() -> None:
    def chain(count: int) -> Workflow:
        ids = [f"s{each}" for each in range(count)]
        conditional = (
            step(here, when="visit > 5", next={"ok": after})
            for here, after in zip(ids[1:], [*ids[2:], None], strict=True)
        )
        return unchecked(step("s0", next={"ok": "s1"}), *conditional)

    counts = [calls_of(partial(check_workflow, each)) for each in (chain(200), chain(2000))]

    assert counts[1] < 10.5 * counts[0]


def test_a_workflow_of_two_thousand_steps_runs() -> None:
    definition = long(2000)

    session = advance(definition, start(definition), Report("ok"))

    assert session.step == "step2"
    assert len(list(graph.edges(definition))) == 2000
