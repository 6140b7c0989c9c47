"""The optional registry: read leniently, and merged with what the skills declare."""

from pathlib import Path

import pytest
from support.skills import ACCEPTING, REGISTRY, head, put

from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.locations import Scope
from flowrail.discovery.registry import Registry, read_registry

REMOTE = """\
version: "1.0"
workflows:
  - name: far-away
    description: Lives elsewhere
    skill_path: https://example.org/far-away/SKILL.md
    handoff: {accepts_from: ["*"], schema_version: "3.0"}
    categories: [research]
    priority: 1
    tags: [remote, slow]
    notes: Ask first
"""


@pytest.fixture
def home(tree: Path) -> Path:
    (tree / ".claude/skills").mkdir(parents=True)
    return tree


def registry(home: Path, text: str) -> Path:
    path = home / ".claude/handoff-registry.yaml"
    path.write_text(text)
    return path


def discovered(home: Path) -> Discovery:
    return discover(str(home / "nowhere"), str(home), {})


def read(home: Path, text: str) -> Registry:
    return read_registry(str(registry(home, text)), str(home))


def problems(registry_read: Registry) -> list[tuple[str, int]]:
    return [(problem.reason, problem.line) for problem in registry_read.problems]


def test_the_example_of_the_document_is_read(home: Path) -> None:
    registry_read = read(home, REGISTRY)

    first, second = registry_read.entries
    assert registry_read.problems == ()
    assert (first.skill, first.path, first.line) == (
        "programming-pm",
        str(home / ".claude/skills/programming-pm/SKILL.md"),
        5,
    )
    assert first.declaration.values["provides_to"] == (
        "senior-developer",
        "junior-developer",
        "systems-architect",
    )
    assert first.declaration.values["duration"] == "days-to-weeks"
    assert first.declaration.values["autonomous"] is False
    assert second.declaration.values["autonomous"] is True
    assert not first.present


def test_the_frontmatter_wins_and_the_registry_adds(home: Path) -> None:
    put(home / ".claude/skills", "programming-pm", head("programming-pm", ACCEPTING))
    registry(
        home, REGISTRY.replace('    version: "1.2"', '    version: "1.2"\n    priority: 7\n    tags: [big]')
    )

    (candidate,) = discovered(home).candidates

    assert candidate.categories == ("research",)
    assert candidate.description == "Digs deeper"
    assert (candidate.priority, candidate.tags, candidate.duration) == (7, ("big",), "days-to-weeks")


def test_the_registry_cannot_add_a_program_to_run(home: Path) -> None:
    put(home / ".claude/skills", "programming-pm", head("programming-pm", ACCEPTING))
    registry(home, REGISTRY.replace('accepts_from: ["*"]', 'accepts_from: ["*"]\n      health_check: rm -rf'))

    (candidate,) = discovered(home).candidates

    assert candidate.health_check is None


def test_remote_workflows_are_offered_last(home: Path) -> None:
    put(home / ".claude/skills", "near")
    registry(home, REMOTE)

    near, far = discovered(home).candidates

    assert near.skill == "near"
    assert (far.skill, far.scope, far.remote) == ("far-away", Scope.REGISTRY, True)
    assert far.path == "https://example.org/far-away/SKILL.md"
    assert (far.priority, far.tags, far.remarks) == (1, ("remote", "slow"), ("Ask first",))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("version: 1\nworkflows: [\n", 3),
        ("workflows: &a []\n", 1),
        ("- a list\n", 1),
        ("version: 1\n", 1),
        ("version: 1\nworkflows: {}\n", 2),
        ("", 1),
    ],
)
def test_a_registry_that_cannot_be_read_costs_nothing_but_itself(home: Path, text: str, line: int) -> None:
    put(home / ".claude/skills", "a-skill")
    registry(home, text)

    discovery = discovered(home)

    assert [candidate.skill for candidate in discovery.candidates] == ["a-skill"]
    assert [problem.line for problem in discovery.registry.problems] == [line]
