"""An agent that knows only the printed commands reaches the end, even if processes die in between."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest
from support.agent import FORMS, as_process, in_a_shell, walk
from support.sandbox import ASKING, flow, put_skill, told

NUMBERS = {
    "decision-critic": [1, 2, 3, 4, 5, 6, 7, None],
    "problem-analysis": [1, 2, 3, 3, 3, 3, 3, 4, 5, None],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("skill", NUMBERS)
def test_an_agent_walks_a_bundled_skill_to_its_end(skill: str, form: str) -> None:
    turns = walk(f"flow step {skill}", form=form)

    assert [turn.seen.number for turn in turns] == NUMBERS[skill]
    assert turns[-1].seen.status == "completed"


@pytest.mark.parametrize(("skill", "form"), [("decision-critic", "xml"), ("problem-analysis", "json")])
def test_an_agent_walks_with_a_process_for_each_command(skill: str, form: str) -> None:
    turns = walk(f"flow step {skill}", form=form, run=as_process)

    assert [turn.seen.number for turn in turns] == NUMBERS[skill]
    assert turns[-1].seen.status == "completed"


def test_an_agent_walks_in_a_shell_with_the_commands_as_they_stand() -> None:
    put_skill("asking", ASKING)

    turns = walk("flow step asking -p topic='a \"b\" $c'", run=in_a_shell)

    assert [turn.seen.number for turn in turns] == [1, 1, 1, 2, None]
    (session,) = told("sessions", "--all")["sessions"]
    assert session["params"]["topic"] == 'a "b" $c'


@pytest.mark.parametrize("form", FORMS)
def test_values_that_are_asked_for_are_appended_and_taken(form: str) -> None:
    put_skill("asking", ASKING)

    turns = walk("flow step asking", form=form, choose=lambda seen: seen.commands[-1])

    assert [turn.seen.number for turn in turns] == [1, 2, None]
    assert turns[0].seen.wants
    assert turns[-1].seen.status == "failed"


def test_a_parameter_of_any_text_survives_the_way_to_the_step() -> None:
    text = 'it\'s "slow" & <b>; $(rm -rf) `x` ]]> \u202e\n\\ 100%'

    for form in FORMS:
        shown = flow("start", "problem-analysis", "-p", f"topic={text}", "--format", form)
        assert shown.status == 0
        assert "\u202e" not in shown.out or form == "json"
        if form == "xml":
            told_text = ET.fromstring(shown.out).findtext("current_action")  # noqa: S314 - our own output
            assert text.replace("\u202e", "⟨U+202E⟩").replace("\n", "\n> ") in str(told_text)
    assert told("start", "problem-analysis", "-p", f"topic={text}")["params"]["topic"] == text


@pytest.mark.parametrize("choices", [["a b", "$HOME", "it's"], ["x;y", "*", "ä"]])
def test_a_choice_that_a_shell_would_split_is_quoted(choices: list[str]) -> None:
    put_skill(
        "odd",
        "name: NAME\nsteps:\n  - id: only\n    title: Only\n    actions: [Do.]\n"
        f"    reports: {{how: {{type: string, choices: {json.dumps(choices)}, required: true}}}}\n"
        "    next: {ok: null}\n",
    )

    for number, choice in enumerate(choices):
        turns = walk("flow start odd", form="json", choose=lambda seen, at=number: seen.commands[at])  # type: ignore[misc]
        session = turns[1].command.split("--session ")[1].split()[0]
        assert told("history", session)["steps"][-1]["facts"] == {"how": choice}
