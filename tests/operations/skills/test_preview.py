"""Previews of a step, without a session."""

from __future__ import annotations

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
