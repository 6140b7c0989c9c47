"""The bundled skills as a host meets them: cards that keep to the format, and whose commands work."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from support.golden import in_golden_block
from support.sandbox import BUNDLED, flow

from flowrail.diagrams.extract import picture
from flowrail.diagrams.renderers import markdown
from flowrail.discovery.declaration import FoundSkill
from flowrail.discovery.frontmatter import read_file
from flowrail.discovery.locations import Root, Scope, bundled_folder
from flowrail.discovery.scan import scan
from flowrail.machines.workflow import Workflow
from flowrail.skills.card import departures, handoff_findings
from flowrail.skills.catalog import listing, workflows
from flowrail.skills.loader import Loader

SKILLS = Path(bundled_folder())
ACCEPTING = {
    "planner": {"implementation", "architecture"},
    "refactor": {"implementation", "analysis"},
    "deepthink": {"analysis", "research", "creative"},
    "decision-critic": {"analysis", "verification"},
    "solution-design": {"architecture", "implementation"},
    "codebase-analysis": {"analysis", "architecture"},
    "problem-analysis": {"analysis", "research"},
}
"""The skills that work can be handed to, with what they are good for; one hands over, the rest do neither."""
GIVING = "perspective-swarm"
TAKING_OVER = "flow handoff receive PATH"


def card(skill: str) -> str:
    return (SKILLS / skill / "SKILL.md").read_text(encoding="utf-8")


def commands(skill: str) -> list[str]:
    """Return every complete command that the card shows, in code blocks and in the text, in order."""
    text = card(skill).partition("\n---\n")[2]
    shown = re.findall(r"^(flow .*)$|`(flow [^`\n]+)`", text, re.MULTILINE)
    return [(block or inline).replace("…", "a word or two") for block, inline in shown]


def workflows_of(skill: str) -> list[Workflow]:
    found = next(found for found in listing(()) if found.name == skill)
    return [Loader().load(file.address).definition for file in workflows(found)]


@pytest.mark.parametrize("skill", BUNDLED)
def test_a_card_keeps_to_the_open_format(skill: str) -> None:
    front = read_file(str(SKILLS / skill / "SKILL.md"))

    assert [*departures(front, skill), *handoff_findings(front, skill)] == []
    assert front.values["name"] == skill
    allowed = str(front.values["allowed-tools"]).split(", ")
    assert {rule.removesuffix(")").removeprefix("Bash(flow ").removesuffix(":*") for rule in allowed} == {
        *("step", "resume", "sessions", "ask", "answer", "finding", "handoff"),
        *("discover", "show"),
        *(["run"] if any(step.commands for file in workflows_of(skill) for step in file.steps) else []),
    }
    assert len(card(skill).splitlines()) < 500


@pytest.mark.parametrize("skill", BUNDLED)
def test_a_description_says_when_and_with_which_command(skill: str) -> None:
    description = str(read_file(str(SKILLS / skill / "SKILL.md")).values["description"])

    assert re.search(r"Use when ", description)
    assert re.search(rf"Start at once with `flow step {skill}[ `]", description)
    assert 300 < len(description) <= 1024


@pytest.mark.parametrize("skill", BUNDLED)
def test_the_first_command_works_as_written_and_so_do_all_others(skill: str) -> None:
    lines = commands(skill)

    assert lines[0].startswith(f"flow step {skill}")
    for line in lines:
        _, verb, *words = shlex.split(line)
        if verb == "handoff":  # tried with a payload of each in tests/handoff/test_swarm.py
            assert (line, skill in ACCEPTING) == (TAKING_OVER, True)
            continue
        assert verb == "step", line
        if "-p" not in line and "-p" in lines[0] and skill in {"planner", "perspective-swarm"}:
            continue  # shows the current step again, where there is one: what it is said to be for
        ran = flow("step", "--new", *words)
        assert ran.status == 0, (line, ran.err)


def test_only_those_that_take_over_work_or_hand_it_over_say_so() -> None:
    found = scan([Root(str(SKILLS), Scope.GLOBAL, "home")])
    read = {each.skill: each.declaration for each in found if isinstance(each, FoundSkill)}

    assert sorted(read) == BUNDLED
    for skill, declaration in read.items():
        assert set(declaration.values.get("categories", ())) == ACCEPTING.get(skill, set()), skill
        assert ("provides_to" in declaration.values) == (skill == GIVING), skill
        assert bool(declaration.line) == (skill == GIVING or skill in ACCEPTING), skill


@pytest.mark.parametrize("skill", BUNDLED)
def test_the_table_of_steps_is_the_generated_one(skill: str) -> None:
    file = SKILLS / skill / "SKILL.md"

    assert in_golden_block(file, "steps", markdown.render(picture(Loader().load(skill).definition)))
