"""The signature of an operation is its command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import click
import pytest
from click.testing import CliRunner

from flowrail.cli.operation_command import command_of
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.text.report import Report


@dataclass(frozen=True)
class Greeting:
    """What the operation below returns."""

    text: str
    words: tuple[str, ...]
    facts: Mapping[str, object]

    def report(self) -> Report:
        return [self.text]


@operation("people greet", "flow people greet Ann --tone loud")
def greet(
    environment: Environment,
    name: Annotated[str, Help("The name.")],
    word: Annotated[tuple[str, ...], Help("More words.")] = (),
    *,
    tone: Annotated[Literal["loud", "quiet"], Help("How to say it.")] = "quiet",
    times: Annotated[int, Help("How often.")] = 1,
    shout: Annotated[bool, Help("In capital letters.")] = False,
    facts: Annotated[Mapping[str, object], Help("Facts.", short="-s", file_option="--facts-file")] = {},
) -> Greeting:
    """Greet a person

    Says the name.
    """
    text = f"{tone} {name} " * times
    return Greeting(text.upper() if shout else text, word, facts)


def run(*words: str) -> str:
    result = CliRunner().invoke(command_of(greet), words, standalone_mode=False, catch_exceptions=False)
    return result.output


def test_positional_parameters_are_arguments_and_others_are_options() -> None:
    assert run("Ann", "a", "b", "--tone", "loud", "--times", "2") == "loud Ann loud Ann \n"
    assert run("Ann", "--shout") == "QUIET ANN \n"


def test_the_json_of_a_result_is_its_fields() -> None:
    assert '"words": [\n  "a"\n ]' in run("Ann", "a", "-s", "x=1", "--json")
    assert '"x": "1"' in run("Ann", "-s", "x=1", "--json")


def test_the_help_is_made_from_the_signature() -> None:
    out = run("--help")

    assert "greet [OPTIONS] NAME [WORD...]" in out
    assert "--tone [loud|quiet]" in out
    assert "flow people greet Ann --tone loud" in out


def test_a_value_that_is_not_a_choice_is_refused() -> None:
    with pytest.raises(click.BadParameter, match="is not one of"):
        CliRunner().invoke(
            command_of(greet), ["Ann", "--tone", "x"], standalone_mode=False, catch_exceptions=False
        )
