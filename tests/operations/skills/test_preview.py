"""Previews of a step, without a session."""

from __future__ import annotations

import pytest
from support.refusals import refused
from support.sandbox import ASKING, put_skill

from flowrail.cli.options import named_values
from flowrail.machines.guidance.guide import Guidance
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


def test_values_and_visits_may_be_supposed() -> None:
    put_skill("asking", ASKING)

    guidance = preview("asking", "look", params=("topic=login", "size=1"), visit=3)
    after = preview("asking", "tell", facts=("sure=low", "where=a,b"))

    assert guidance.step is not None
    assert (guidance.step.title, guidance.step.attempt) == ("Look at login", 3)
    assert all(transition.to == "tell" for transition in guidance.next)
    assert after.actions == ("Sure: low, where: a, b.",)


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
