"""Scan and registry as one: who can take over work, who is hidden, why the others cannot."""

from pathlib import Path

import pytest
from support.skills import candidate, head, put

from flowrail.discovery.index import Discovery, discover


@pytest.fixture
def home(tree: Path) -> Path:
    return tree / "home"


@pytest.fixture
def project(tree: Path) -> Path:
    (tree / "project/.git").mkdir(parents=True)
    return tree / "project"


def skills(discovery: Discovery) -> list[str]:
    return [candidate.skill for candidate in discovery.candidates]


def test_a_skill_is_found_by_its_folder_first_then_by_its_name() -> None:
    labels = {"one": "shared", "two": "shared", "three": "one", "four": "alone"}
    discovery = Discovery(tuple(candidate(skill, name=name) for skill, name in labels.items()))

    names = {name: [c.skill for c in discovery.named(name)] for name in ("one", "alone", "shared", "five")}

    assert names == {"one": ["one"], "alone": ["four"], "shared": ["one", "two"], "five": []}


# --- nothing found --------------------------------------------------------------------------------


def test_without_any_that_accepts_it_says_how_many_there_are(home: Path, project: Path) -> None:
    put(home / ".claude/skills", "one", head("one"))
    put(home / ".claude/skills", "two", head("two"))
    put(home / ".claude/skills", "no", "---\nhandoff: {accepts_handoff: false}\n---\n")
    (home / ".claude/skills/empty").mkdir()

    nothing = discover(str(project), str(home), {}).nothing(0)

    assert nothing
    assert nothing.code == "NONE_ACCEPTS"
    assert nothing.message == "3 skills found, none accept handoffs."
