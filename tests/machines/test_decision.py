"""How a step decides its outcome, and how a failing function of the author is reported."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
from support.workflows import step, workflow

from flowrail.machines.outcome import Outcome
from flowrail.machines.outcome_decision import (
    Decision,
    HandlerError,
    actions_of,
    applies,
    by_rules,
    call_function,
    decide,
    holds,
    in_context,
    title_of,
)
from flowrail.machines.step import StepContext, StepDef
from flowrail.machines.values import Arg


def context(step_def: StepDef | None = None, **state: Any) -> StepContext:
    definition = workflow(step_def or step())
    return in_context(definition, definition.steps[0], {"mode": "full"}, state, 2)


def decided(handler: Callable[..., Any], **state: Any) -> Decision:
    step_def = step(handler=handler)
    return decide(step_def, context(step_def, **state))


# --- what is known


# --- what a handler returns


@pytest.mark.parametrize(
    ("answer", "decision"),
    [
        (Outcome.OK, Decision(Outcome.OK, {})),
        ("iterate", Decision(Outcome.ITERATE, {})),
        ((Outcome.FAIL, {"a": [1]}), Decision(Outcome.FAIL, {"a": [1]})),
        (("skip", {}), Decision(Outcome.SKIP, {})),
    ],
)
def test_a_handler_returns_an_outcome_with_values_or_without(answer: Any, decision: Decision) -> None:
    assert decided(lambda _: answer) == decision


@pytest.mark.parametrize(
    "answer",
    [
        None,
        "done",
        Outcome.DEFAULT,
        (Outcome.OK, None),
        (Outcome.OK, {}, 1),
    ],
)
def test_anything_else_is_refused(answer: Any) -> None:
    with pytest.raises(HandlerError, match="the handler of step `only` returned"):
        decided(lambda _: answer)


# --- what a handler is given


def wants(
    ctx: StepContext, size: Annotated[int, Arg(max=3)], other: str = "x"
) -> tuple[Outcome, dict[str, Any]]:
    return Outcome.OK, {"size": size, "other": other}


def test_an_argument_that_does_not_fit_or_is_missing_is_told() -> None:
    with pytest.raises(HandlerError, match="cannot be called: `size` is at most 3, not 4"):
        decided(wants, size=4)
    with pytest.raises(HandlerError, match="needs `size`, which has no value yet") as caught:
        decided(wants)
    assert str(caught.value.hint) == "give `size` as a parameter at the start, or report it as a fact"


# --- functions that fail


class MuteError(Exception):
    def __str__(self) -> str:
        raise LookupError


class NoError(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MuteError(), "MuteError: (its message cannot be shown)"),
        (NoError("x"), "NoError: x"),
        (SystemExit(3), "SystemExit: 3"),
    ],
)
def test_whatever_a_function_raises_is_told(error: BaseException, message: str) -> None:
    def handler(_: StepContext) -> None:
        raise error

    with pytest.raises(HandlerError, match=re.escape(message)):
        call_function(handler, context())


def test_an_interrupt_is_passed_on() -> None:
    def handler(_: StepContext) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        call_function(handler, context())


def test_an_expression_that_cannot_be_evaluated_names_its_place() -> None:
    with pytest.raises(HandlerError) as caught:
        applies(step("look", when="mode > 3"), context())
    with pytest.raises(HandlerError, match="a variant of step `look`: cannot tell"):
        actions_of(step("look", variants=[("mode > 3", ("x",))]), context())
    with pytest.raises(HandlerError, match="a rule of step `look`: cannot tell"):
        by_rules(step("look", rules=[("ok", "mode > 3"), ("ok", None)]), {"mode": "full"})

    assert caught.value.message.startswith("`when` of step `look`: cannot tell whether 'full' > 3")
    assert caught.value.details == {"place": "`when` of step `look`"}
    assert not holds("size > 3", context(), where="here")


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"x"])
def test_a_value_of_a_handler_that_cannot_be_saved_names_the_authors_line(value: object) -> None:
    with pytest.raises(HandlerError, match=r"values that cannot be saved: .* \(.*test_decision\.py:\d+\)"):
        decided(lambda _: (Outcome.OK, {"a": value}))


def test_what_a_function_goes_on_to_run_is_told_too() -> None:
    def lines(_: StepContext) -> Iterator[str]:
        yield "one"
        raise LookupError("two")

    def title(_: StepContext) -> object:
        return MuteError()

    with pytest.raises(HandlerError, match="lines` raised LookupError: two"):
        actions_of(StepDef("a", "A", lines, next={Outcome.OK: None}), context())  # type: ignore[arg-type]
    with pytest.raises(HandlerError, match="title` raised LookupError"):
        title_of(StepDef("a", title, ["x"], next={Outcome.OK: None}), context())  # type: ignore[arg-type]


# --- the place of an error


def test_a_wrong_fact_in_a_handler_is_reported_at_the_authors_line() -> None:
    def handler(ctx: StepContext) -> Outcome:
        return Outcome.OK if ctx.step_state["scoer"] else Outcome.FAIL

    line = handler.__code__.co_firstlineno + 1
    with pytest.raises(HandlerError, match=re.escape(f"({__file__}:{line})")) as caught:
        call_function(handler, context())

    assert "`scoer`" in str(caught.value.hint)


def test_a_handler_that_returns_no_outcome_is_reported_at_its_definition() -> None:
    def handler(_: StepContext) -> object:
        return "perhaps"

    step = StepDef("first", "First", ["Do."], handler=handler, next={"ok": None})  # type: ignore[arg-type]

    with pytest.raises(HandlerError, match=re.escape(f"({__file__}:{handler.__code__.co_firstlineno})")):
        decide(step, context(step))


# --- the time limit


class Slow:
    """A value whose destructor takes longer than the time limit, and swallows what stops it."""

    def __del__(self) -> None:
        time.sleep(0.2)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_time_limit_that_a_destructor_swallows_rings_again() -> None:
    def handler(_: StepContext) -> None:
        Slow()
        time.sleep(30)

    with pytest.raises(HandlerError, match=re.escape("took more than 0.1 seconds")):
        call_function(handler, context(), seconds=0.1)


def test_a_program_with_its_own_alarm_keeps_it() -> None:
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        call_function(lambda _: time.sleep(0.2), context(), seconds=0.05)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert rung == [signal.SIGALRM]
