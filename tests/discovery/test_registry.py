"""The optional registry: read leniently, merged with what the skills declare, checked strictly."""

from pathlib import Path

import pytest
from support.skills import ACCEPTING, REGISTRY, head, put

from flowrail.discovery import find_workflows
from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.locations import Scope
from flowrail.discovery.registry.check import check
from flowrail.discovery.registry_file import Registry, read_registry

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


def codes(registry_read: Registry) -> list[tuple[str, int]]:
    return [(note.code, note.line) for note in registry_read.notes]


def test_the_example_of_the_document_is_read(home: Path) -> None:
    registry_read = read(home, REGISTRY)

    first, second = registry_read.entries
    assert registry_read.notes == ()
    assert (first.name, first.path, first.line) == (
        "programming-pm",
        str(home / ".claude/skills/programming-pm/SKILL.md"),
        5,
    )
    assert first.reading.declared["provides_to"] == (
        "senior-developer",
        "junior-developer",
        "systems-architect",
    )
    assert first.reading.declared["duration"] == "days-to-weeks"
    assert first.reading.declared["autonomous"] is False
    assert second.reading.declared["autonomous"] is True
    assert set(first.reading.origins.values()) == {"registry"}
    assert not first.present


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ({}, ["programming-pm", "skill-editor"]),
        ({"input": "specification"}, ["programming-pm", "skill-editor"]),
        ({"accepts_from": "programming-pm"}, ["skill-editor"]),
        ({"schema_version": "1.2"}, []),
    ],
)
def test_the_index_is_asked_in_each_of_the_ways(
    home: Path, asked: dict[str, str], expected: list[str]
) -> None:
    put(home / ".claude/skills", "programming-pm", "---\nname: programming-pm\n---\n")
    put(home / ".claude/skills", "skill-editor", "---\nname: skill-editor\n---\n")
    registry(home, REGISTRY)

    answer = find_workflows(**asked, discovery=discovered(home))  # type: ignore[arg-type]

    assert [entry.candidate.skill for entry in answer] == expected


def test_the_frontmatter_wins_and_the_registry_adds(home: Path) -> None:
    put(home / ".claude/skills", "programming-pm", head("programming-pm", ACCEPTING))
    registry(
        home, REGISTRY.replace('    version: "1.2"', '    version: "1.2"\n    priority: 7\n    tags: [big]')
    )

    (candidate,) = discovered(home).candidates

    assert candidate.categories == ("research",)
    assert candidate.description == "Digs deeper"
    assert (candidate.priority, candidate.tags, candidate.duration) == (7, ("big",), "days-to-weeks")
    assert candidate.origins["categories"] == "handoff.handoff_categories"
    assert candidate.origins["priority"] == candidate.origins["provides_to"] == "registry"


def test_a_skill_that_says_no_is_not_overruled(home: Path) -> None:
    put(
        home / ".claude/skills", "programming-pm", head("programming-pm", "handoff: {accepts_handoff: false}")
    )
    registry(home, REGISTRY)

    assert discovered(home).candidates == ()


def test_remote_workflows_are_offered_last(home: Path) -> None:
    put(home / ".claude/skills", "near")
    registry(home, REMOTE)

    near, far = discovered(home).candidates

    assert near.skill == "near"
    assert (far.skill, far.scope, far.remote) == ("far-away", Scope.REGISTRY, True)
    assert far.path == "https://example.org/far-away/SKILL.md"
    assert (far.priority, far.tags, far.remarks) == (1, ("remote", "slow"), ("Ask first",))


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("", True),
        ("git@host:x/y", True),
        ("x/y/SKILL.md", False),
    ],
)
def test_what_has_no_path_here_is_remote(home: Path, path: str, remote: bool) -> None:
    (entry,) = read(home, REMOTE.replace("https://example.org/far-away/SKILL.md", path)).entries

    assert entry.remote is remote


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
    assert [(note.code, note.line) for note in discovery.notes if note.line == line] != []
    assert {note.code for note in check(discovery)} & {"REGISTRY_UNREADABLE", "REGISTRY_ENTRY_INVALID"}


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("just text", "REGISTRY_ENTRY_INVALID"),
        ("{description: no name}", "REGISTRY_ENTRY_INVALID"),
        ("{name: x, priority: high}", "REGISTRY_ENTRY_INVALID"),
        ("{name: x, priority: 12345678}", "REGISTRY_ENTRY_INVALID"),
        ("{name: x, handoff: {accept: a}}", "UNKNOWN_KEY"),
        ("{name: far-away, remote: [x], skill_path: [y]}", "REGISTRY_DUPLICATE"),
    ],
)
def test_a_bad_entry_costs_nothing_but_itself(home: Path, entry: str, code: str) -> None:
    registry_read = read(home, f"{REMOTE}  - {entry}\n")

    assert registry_read.entries[0].name == "far-away"
    assert codes(registry_read) == [(code, 11)]


# --- the strict reading ---------------------------------------------------------------------------


def checked(home: Path) -> list[tuple[str, int]]:
    return [(note.code, note.line) for note in check(discovered(home))]


def install(home: Path) -> None:
    for name in ("programming-pm", "skill-editor"):
        put(home / ".claude/skills", name, head(name))


@pytest.mark.parametrize(
    ("old", "new", "code", "line"),
    [
        ('version: "1.2"', "priority: high", "REGISTRY_ENTRY_INVALID", 6),
        ('- name: "programming-pm"', "- label: x", "REGISTRY_ENTRY_INVALID", 5),
        ('accepts_from: ["*"]', 'accepts_from: "*"', "NOT_A_LIST", 10),
        ("autonomous: false", "autonomous: sometimes", "INVALID_FIELD", 20),
    ],
)
def test_every_error_is_named_with_its_line(home: Path, old: str, new: str, code: str, line: int) -> None:
    install(home)
    registry(home, REGISTRY.replace(old, new, 1))

    assert (code, line) in checked(home)


def test_a_remote_workflow_must_declare_what_it_accepts(home: Path) -> None:
    registry(
        home, "version: '1.0'\nworkflows:\n  - {name: far, remote: true, handoff: {accepts_from: [x]}}\n"
    )

    assert checked(home) == [("NO_CATEGORIES", 3)]


def test_what_differs_from_the_skills_is_told(home: Path) -> None:
    put(home / ".claude/skills", "programming-pm", head("programming-pm", ACCEPTING))
    put(home / ".claude/skills", "new", head("new", ACCEPTING))
    put(home / "project/.claude/skills", "local", head("local", ACCEPTING))
    registry(home, REGISTRY)

    notes = check(discover(str(home / "project"), str(home), {}))

    assert [(note.code, note.line) for note in notes] == [
        ("REGISTRY_STALE", 22),
        ("REGISTRY_MISSES", 0),
        ("REGISTRY_DIFFERS", 5),
    ]
    assert notes[2].reason == "`programming-pm` declares other values: categories"
