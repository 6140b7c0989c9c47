"""Previews of a step, without a session."""

from __future__ import annotations

import pytest
from support.refusals import refused
from support.sandbox import ASKING, put_skill

from flowrail.cli.options import named_values
from flowrail.machines.guidance.guide import Guidance
from flowrail.machines.reported_values import ValuesError
from flowrail.operations.environment import Environment
from flowrail.operations.skills.show import PreviewedStep, show


def preview(
    address: str, step: str, *, params: tuple[str, ...] = (), facts: tuple[str, ...] = (), visit: int = 1
) -> Guidance:
    shown = show(
        Environment(),
        address,
        step,
        param=named_values(params, "-p"),
        fact=named_values(facts, "-s"),
        attempt=visit,
    )
    assert isinstance(shown, PreviewedStep)
    return shown


def test_a_step_is_shown_with_defaults_and_without_commands() -> None:
    put_skill("asking", ASKING)

    guidance = preview("asking", "look")

    assert guidance.step is not None
    assert (guidance.step.title, guidance.actions) == ("Look at nothing", ("Look at it, 3 times.",))
    assert [transition.command for transition in guidance.next] == [None, None]


def test_a_parameter_without_a_value_has_its_example() -> None:
    put_skill("asking", ASKING.replace("default: nothing", "required: true, example: this example"))

    guidance = preview("asking", "look")

    assert guidance.step is not None
    assert guidance.step.title == "Look at this example"
    assert (guidance.session, guidance.revision) == ("", 0)


def test_values_and_visits_may_be_supposed() -> None:
    put_skill("asking", ASKING)

    guidance = preview("asking", "look", params=("topic=login", "size=1"), visit=3)
    after = preview("asking", "tell", facts=("sure=low", "where=a,b"))

    assert guidance.step is not None
    assert (guidance.step.title, guidance.step.attempt) == ("Look at login", 3)
    assert all(transition.to == "tell" for transition in guidance.next)
    assert after.actions == ("Sure: low, where: a, b.",)


def test_steps_have_numbers_too() -> None:
    assert preview("problem-analysis", "3").step == preview("problem-analysis", "investigate").step
    assert (
        preview("problem-analysis", "investigate", visit=2).actions
        != preview("problem-analysis", "3").actions
    )


@pytest.mark.parametrize("step", ["0", "6", "-1", "9" * 50, "²", "1.0", "", "investigat", "Investigate"])
def test_an_unknown_step_is_refused_with_near_ones(step: str) -> None:
    with refused("UNKNOWN_STEP") as caught:
        preview("problem-analysis", step)

    assert (caught.value.code, caught.value.exit_status) == ("UNKNOWN_STEP", 2)
    expected = (
        "did you mean `investigate`?"
        if step.lower().startswith("inv")
        else "see its steps: flow show problem-analysis"
    )
    assert str(caught.value.hint) == expected
    assert caught.value.details["steps"] == ["gate", "hypothesize", "investigate", "formulate", "output"]


def test_values_that_do_not_fit_are_refused() -> None:
    put_skill("asking", ASKING)

    for params, facts in ((("size=99",), ()), ((), ("sure=maybe",))):
        with pytest.raises(ValuesError):
            preview("asking", "look", params=params, facts=facts)
