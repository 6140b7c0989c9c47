"""The domains of every step, and their combinations."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from support.workflows import loop, step, unchecked, workflow

from flowrail.errors import UsageError
from flowrail.machines.outcome import Outcome
from flowrail.machines.step import StepContext
from flowrail.machines.values import Arg
from flowrail.testing import BoundedInt, ChoiceSet, Constant, extract_schema, generate_inputs, input_id

MODES = Arg(choices=("quick", "full"), default="full")
CHOICE = Arg(choices=("a", "b", "c"), default="a")


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (BoundedInt(1, 5), [1, 2, 3, 4, 5]),
        (BoundedInt(2, 1), []),
        (ChoiceSet(("full", "quick")), ["full", "quick"]),
        (ChoiceSet(["full", ["quick"]]), ["full", ("quick",)]),
        (Constant([1, [2]]), [(1, (2,))]),
        (Constant(42), [42]),
    ],
)
def test_domains_are_iterable_sized_frozen_and_hashable(domain: Any, values: list[Any]) -> None:
    assert list(domain) == values
    assert len(domain) == len(values)
    assert hash(domain) == hash(type(domain)(*domain.__dict__.values()))
    with pytest.raises(AttributeError):
        domain.lo = 7


def test_values_apply_where_they_play_a_part() -> None:
    looped = loop(4, reports={"sure": Arg(choices=("low", "high"), required=True)})
    made = workflow(*looped.steps, params={"mode": MODES, "topic": Arg(example="slow login")})

    schema = extract_schema(made)

    assert schema["look"]["iteration"] == BoundedInt(1, 4)
    assert schema["look"]["sure"] == ChoiceSet(("low", "high"))
    assert "iteration" not in schema["last"]
    assert "sure" not in schema["last"]
    assert schema["last"]["mode"] == ChoiceSet(("quick", "full"))
    assert schema["last"]["topic"] == Constant("slow login")


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


def test_a_step_is_left_out_where_its_condition_does_not_hold() -> None:
    made = workflow(
        step("first", next={"ok": "deep"}, reports={"sure": Arg(choices=("low", "high"))}),
        step("deep", when="mode == 'full' and sure == 'high'", next={"ok": None}),
        params={"mode": MODES},
    )

    deep = [values for values in generate_inputs(made) if values["step"] == 2]

    assert deep == [{"step": 2, "total_steps": 2, "mode": "full", "sure": "high"}]


def test_a_condition_that_is_a_function_leaves_a_step_out() -> None:
    deep = step("deep", when=lambda ctx: ctx.workflow_params["mode"] == "full")
    made = workflow(step("first", next={"ok": "deep"}), deep, params={"mode": MODES})

    assert [values["mode"] for values in generate_inputs(made) if values["step"] == 2] == ["full"]


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


def test_no_two_inputs_have_the_same_id() -> None:
    values = ("1", "true", "a", "a-size=2", "a b", "")
    made = workflow(step(reports={"size": Arg(choices=(1, 2)), "word": Arg(choices=values)}))
    cases = list(generate_inputs(made))

    assert len({input_id(made, values) for values in cases}) == len(cases) == 12
    assert input_id(made, cases[2]) == "dull-only-size=1-word=a"


@pytest.mark.parametrize("when", [lambda _: 1 / 0, "mode ==", "mode > 3"])
def test_a_condition_that_cannot_be_evaluated_leaves_nothing_out(when: Any) -> None:
    made = unchecked(step("first", next={"ok": "deep"}), step("deep", when=when), params={"mode": MODES})

    assert len([values for values in generate_inputs(made) if values["step"] == 2]) == 2
