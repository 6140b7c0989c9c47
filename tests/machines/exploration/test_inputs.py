"""Domains of every step and their combinations, as the documents ask for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.sandbox import BUNDLED
from support.workflows import linear, loop, step, unchecked, workflow

from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import skill_folder
from flowrail.skills.catalog import find, workflows
from flowrail.testing import BoundedInt, ChoiceSet, Constant, extract_schema, generate_inputs, input_id

MODES = Arg(choices=("quick", "full"), default="full")


def each_bundled() -> Iterator[Workflow]:
    for name in BUNDLED:
        for file in workflows(find(name, ())):
            yield skill_folder.read(file).definition


def bundled() -> list[Workflow]:
    return list(each_bundled())


@pytest.mark.parametrize(
    ("domain", "values"),
    [
        (BoundedInt(1, 5), [1, 2, 3, 4, 5]),
        (BoundedInt(2, 1), []),
        (ChoiceSet(("full", "quick")), ["full", "quick"]),
        (ChoiceSet(["full", ["quick"]]), ["full", ("quick",)]),  # type: ignore[arg-type]
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


def test_every_step_has_its_number_and_how_many_there_are() -> None:
    schema = extract_schema(linear("first", "second"))

    assert schema == {
        "first": {"step": Constant(1), "total_steps": Constant(2)},
        "second": {"step": Constant(2), "total_steps": Constant(2)},
    }


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


def test_a_step_that_iterates_without_a_limit_is_tried_five_times() -> None:
    assert extract_schema(loop(None))["look"]["iteration"] == BoundedInt(1, 5)


def test_inputs_are_every_combination_in_the_order_of_the_steps() -> None:
    made = workflow(*loop(2).steps, params={"mode": MODES})

    inputs = list(generate_inputs(made))

    assert [(each["step"], each.get("iteration"), each["mode"]) for each in inputs] == [
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

    deep = [each for each in generate_inputs(made) if each["step"] == 2]

    assert deep == [{"step": 2, "total_steps": 2, "mode": "full", "sure": "high"}]


@pytest.mark.parametrize("when", [lambda _: False, "mode ==", "mode > 3"])
def test_a_condition_that_only_running_could_judge_leaves_nothing_out(when: Any) -> None:
    made = unchecked(step("first", next={"ok": "deep"}), step("deep", when=when), params={"mode": MODES})

    assert len([each for each in generate_inputs(made) if each["step"] == 2]) == 2


def test_deepthink_skips_six_steps_in_quick_mode() -> None:
    deepthink = next(each for each in bundled() if each.name == "deepthink")

    for mode, steps in (("full", 14), ("quick", 8)):
        seen = {each["step"] for each in generate_inputs(deepthink) if each["mode"] == mode}
        assert len(seen) == steps


@pytest.mark.parametrize("made", bundled(), ids=lambda each: each.name)
def test_inputs_of_the_bundled_skills_keep_the_promises_of_the_documents(made: Workflow) -> None:
    inputs = list(generate_inputs(made))

    assert inputs
    assert len({input_id(made, each) for each in inputs}) == len(inputs)
    assert {each["total_steps"] for each in inputs} == {made.total_steps}
    assert {each["step"] for each in inputs} == set(range(1, made.total_steps + 1))
    for each in inputs:
        assert ("iteration" in each) <= (made.steps[each["step"] - 1].bound is not None)
