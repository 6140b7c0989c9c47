"""The domains of every step, and their combinations."""

from __future__ import annotations

from typing import Annotated

import pytest
from support.workflows import loop, step, workflow

from flowrail.errors import UsageError
from flowrail.machines.step import StepContext
from flowrail.machines.values import Arg
from flowrail.outcome import Outcome
from flowrail.testing import extract_schema, generate_inputs

MODES = Arg(choices=("quick", "full"), default="full")
CHOICE = Arg(choices=("a", "b", "c"), default="a")


def test_inputs_are_every_combination_in_the_order_of_the_steps() -> None:
    made = workflow(*loop(2).steps, params={"mode": MODES})

    inputs = list(generate_inputs(made))

    assert [(values["step"], values.get("iteration"), values["mode"]) for values in inputs] == [
        (1, 1, "quick"),
        (1, 1, "full"),
        (1, 2, "quick"),
        (1, 2, "full"),
        (2, None, "quick"),
        (2, None, "full"),
    ]


def test_what_a_handler_declares_is_varied_at_its_own_step_only() -> None:
    def decide(
        ctx: StepContext, one: Annotated[str, CHOICE] = "a", two: Annotated[str, CHOICE] = "a"
    ) -> Outcome:
        if ctx.workflow_params.get("color") not in {None, "red"}:
            raise ValueError("an unknown color")
        return Outcome.OK if one == two else Outcome.FAIL

    made = workflow(
        step("first", next={"ok": "second"}), step("second", handler=decide, next={"ok": None, "fail": None})
    )

    cases = list(generate_inputs(made))

    assert [values["step"] for values in cases] == [1] + [2] * 9
    assert cases[0] == {"step": 1, "total_steps": 2}
    assert all(values.keys() == {"step", "total_steps", "one", "two"} for values in cases[1:])


def test_no_value_is_guessed() -> None:
    optional = workflow(step(), params={"topic": Arg(), "size": Arg(type="integer", min=3)})
    required = workflow(step(), params={"topic": Arg(required=True)})

    assert extract_schema(optional)["only"].keys() == {"step", "total_steps", "size"}
    with pytest.raises(UsageError, match="`topic` at step `only` has no choices, bounds, default or example"):
        extract_schema(required)
