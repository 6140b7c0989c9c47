"""How a step decides its outcome, and how a failing function of the author is reported."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from support.workflows import step, workflow

from flowrail.machines import outcome_decision
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
)
from flowrail.machines.step import StepContext, StepDef
from flowrail.machines.values import Arg
from flowrail.outcome import Outcome


def context(step_def: StepDef | None = None, **state: Any) -> StepContext:
    definition = workflow(step_def or step())
    return in_context(definition, definition.steps[0], {"mode": "full"}, state, 2)


def decided(handler: Callable[..., Any], **state: Any) -> Decision:
    step_def = step(handler=handler)
    return decide(step_def, context(step_def, **state))


# --- what a handler returns


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


# --- functions that fail


def test_an_expression_that_cannot_be_evaluated_names_its_place() -> None:
    with pytest.raises(HandlerError) as caught:
        applies(step("look", when="mode > 3"), context())
    with pytest.raises(HandlerError, match="a variant of step `look`: cannot tell"):
        actions_of(step("look", variants=[("mode > 3", ("x",))]), context())
    with pytest.raises(HandlerError, match="a rule of step `look`: cannot tell"):
        by_rules(step("look", rules=[("ok", "mode > 3"), ("ok", None)]), context())

    assert caught.value.message.startswith("`when` of step `look`: cannot tell whether 'full' > 3")
    assert caught.value.details == {"place": "`when` of step `look`"}
    assert not holds("size > 3", context(), where="here")


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), b"x"])
def test_a_value_of_a_handler_that_cannot_be_saved_names_the_authors_line(value: object) -> None:
    with pytest.raises(HandlerError, match=r"values that cannot be saved: .* \(.*test_decision\.py:\d+\)"):
        decided(lambda _: (Outcome.OK, {"a": value}))


# --- the place of an error


def test_a_wrong_fact_in_a_handler_is_reported_at_the_authors_line() -> None:
    def handler(ctx: StepContext) -> Outcome:
        return Outcome.OK if ctx.step_state["scoer"] else Outcome.FAIL

    line = handler.__code__.co_firstlineno + 1
    with pytest.raises(HandlerError, match=re.escape(f"({__file__}:{line})")) as caught:
        call_function(handler, context())

    assert "`scoer`" in str(caught.value.hint)


# --- the time limit


def test_a_program_with_its_own_alarm_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outcome_decision, "HANDLER_SECONDS", 0.05)
    rung: list[int] = []
    before = signal.signal(signal.SIGALRM, lambda number, _: rung.append(number))
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    try:
        call_function(lambda _: time.sleep(0.2), context())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

    assert rung == [signal.SIGALRM]


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
