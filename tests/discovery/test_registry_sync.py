"""Bringing the registry up to date without losing what a person wrote."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.refusals import refused
from support.skills import ACCEPTING, REGISTRY, head, put

from flowrail.discovery.index import discover
from flowrail.discovery.registry import WRITTEN_FILE
from flowrail.discovery.registry_sync import Plan, Sync, apply, plan
from flowrail.errors import DocumentError

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PM = """\
handoff:
  accepts_from: ["*"]
  provides_to: [senior-developer, tester]
  schema_version: "3.0"
categories: [implementation, architecture]
meta:
  estimated_duration: days
"""


@pytest.fixture
def home(tree: Path) -> Path:
    (tree / ".claude/skills").mkdir(parents=True)
    return tree


def file_of(home: Path) -> Path:
    return home / ".claude/handoff-registry.yaml"


def planned(home: Path, cwd: Path | None = None) -> Plan:
    discovery = discover(str(cwd or home / "nowhere"), str(home), {})
    return plan(discovery, home=str(home), now=NOW)


def sync(home: Path) -> Sync:
    """Return what a sync would change; nothing is written."""
    return planned(home).sync


def synced(home: Path) -> str:
    apply(planned(home))
    return file_of(home).read_text()


def changed_lines(changes: Sync) -> list[str]:
    lines = changes.difference.splitlines()[2:]
    return [line for line in lines if line.startswith(("+", "-"))]


def test_where_there_is_none_a_registry_is_made_of_the_skills_in_home(home: Path) -> None:
    put(home / ".claude/skills", "programming-pm", head("programming-pm", PM))
    put(home / "project/.claude/skills", "local", head("local", ACCEPTING))

    changes = apply(planned(home, home / "project"))

    assert changes.added == ["programming-pm"]
    assert file_of(home).read_text() == (
        'version: "1.0"\n'
        'updated_at: "2026-03-01T12:00:00Z"\n'
        "\n"
        "workflows:\n"
        '  - name: "programming-pm"\n'
        '    description: "Does things. Use it for things."\n'
        '    skill_path: "~/.claude/skills/programming-pm/SKILL.md"\n'
        "    handoff:\n"
        "      accepts_from:\n"
        '        - "*"\n'
        "      provides_to:\n"
        '        - "senior-developer"\n'
        '        - "tester"\n'
        '      schema_version: "3.0"\n'
        "    categories:\n"
        '      - "implementation"\n'
        '      - "architecture"\n'
        "    meta:\n"
        '      estimated_duration: "days"\n'
        "\n"
        "meta:\n"
        "  total_workflows: 1\n"
        '  last_scan: "2026-03-01T12:00:00Z"\n'
        '  discovery_mode: "hybrid"\n'
    )
    assert file_of(home).stat().st_mode & 0o777 == 0o600
    assert not sync(home).changes


EDITED = (
    REGISTRY.replace("workflows:\n", "# what I use\nworkflows:\n")
    .replace(
        '    version: "1.2"',
        "    version: '1.2'   # keep the quotes\n    priority: 1\n    notes: mine, not yours\n"
        "    mood: [1.50, 0o17, 2024-01-15]",
    )
    .replace(
        ' ["senior-developer", "junior-developer", "systems-architect"]',
        '\n        - "senior-developer"\n        - "junior-developer"  # Jo\n        - "systems-architect"',
    )
    .replace(
        "\nmeta:\n",
        "\n  - name: far-away  # a friend's\n"
        "    description: Lives elsewhere\n"
        "    skill_path: https://example.org/x\n"
        '    handoff: {accepts_from: ["*"]}\n'
        "    categories: [research]\n"
        "\nmeta:\n",
    )
    + "# the end\n"
)


LAST = {
    "programming-pm": {
        "description": "Multi-phase project management workflow for software development",
        "provides_to": ["senior-developer", "junior-developer", "systems-architect"],
        "duration": "days-to-weeks",
    }
}
"""What the last sync wrote."""


def test_only_what_a_skill_declares_otherwise_is_changed(home: Path) -> None:
    put(home / ".claude/skills", "programming-pm", head("programming-pm", PM))
    same = "Multi-agent workflow for creating and modifying Claude Code skills"
    put(home / ".claude/skills", "skill-editor", head("skill-editor", description=same))
    file_of(home).write_text(EDITED)
    file_of(home).with_name(WRITTEN_FILE).write_text(json.dumps(LAST))

    changes = sync(home)

    assert (changes.added, changes.updated, changes.stale) == ([], ["programming-pm"], [])
    assert {change.field for change in changes.replaced} == {"description", "provides_to", "duration"}
    assert changed_lines(changes) == [
        '-updated_at: "2026-02-07T18:30:00Z"',
        '+updated_at: "2026-03-01T12:00:00Z"',
        '-    description: "Multi-phase project management workflow for software development"',
        '+    description: "Does things. Use it for things."',
        '-        - "junior-developer"  # Jo',
        '-        - "systems-architect"',
        '+        - "tester"',
        '-      estimated_duration: "days-to-weeks"',
        '+      estimated_duration: "days"',
        "-  total_workflows: 2",
        '-  last_scan: "2026-02-07T18:30:00Z"',
        "+  total_workflows: 3",
        '+  last_scan: "2026-03-01T12:00:00Z"',
    ]


def test_line_ends_and_permissions_stay_as_they_are(home: Path) -> None:
    put(home / ".claude/skills", "new", head("new", ACCEPTING))
    file_of(home).write_bytes(REGISTRY.replace("\n", "\r\n").encode())
    file_of(home).chmod(0o644)

    apply(planned(home))

    data = file_of(home).read_bytes()
    assert data.count(b"\n") == data.count(b"\r\n") > 40
    assert file_of(home).stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "text",
    [
        "workflows: [\n",
        "version: '1.0'\n",
        "version: '1.0'\nworkflows: &a []\n",
        "\xff",
        "version: '1.0'\nworkflows: []\nx: >#:",
        "version: '1.0'\nworkflows: []\nx: 2024-99-99",
        "workflows:\n  - {name: a-skill, handoff: text, categories: text}\n",
    ],
)
def test_a_registry_with_mistakes_is_not_touched(home: Path, text: str) -> None:
    put(home / ".claude/skills", "new", head("new", ACCEPTING))
    file_of(home).write_bytes(text.encode("latin-1"))

    with pytest.raises(DocumentError) as refused:
        sync(home)

    assert refused.value.place.startswith(str(file_of(home)))
    assert file_of(home).read_bytes() == text.encode("latin-1")


def test_a_registry_that_was_written_meanwhile_is_not_overwritten(home: Path) -> None:
    put(home / ".claude/skills", "new", head("new", ACCEPTING))
    early = planned(home)
    file_of(home).write_text(REGISTRY)

    with refused("REGISTRY_CHANGED"):
        apply(early)

    assert file_of(home).read_text() == REGISTRY


EDITS: list[tuple[str, str, str, object, object]] = [
    (
        "description",
        '    description: "Does things. Use it for things."',
        "    description: Mine  # for me",
        "description",
        "Mine",
    ),
    (
        "categories",
        '      - "architecture"',
        '      - "research"',
        "categories",
        ("implementation", "research"),
    ),
    ("provides_to", '        - "tester"\n', "", "provides_to", ("senior-developer",)),
    ("duration", '      estimated_duration: "days"', "      estimated_duration: weeks", "duration", "weeks"),
]
"""A field, a line that sync wrote, what a person writes instead, and the value that discovery then uses."""


@pytest.mark.parametrize(("field", "line", "edit", "attribute", "value"), EDITS)
def test_an_edit_survives_two_syncs_and_wins_in_discovery(
    home: Path, field: str, line: str, edit: str, attribute: str, value: object
) -> None:
    version = 'version: "1.0"\n'
    card = put(home / ".claude/skills", "pm", head("pm", version + PM))
    text = synced(home)
    assert text.count(line) == 1
    file_of(home).write_text(text.replace(line, edit))

    [candidate] = discover(str(home), str(home), {}).candidates
    first = apply(planned(home))
    card.write_text(card.read_text().replace("Does things.", "Does more.").replace("days", "hours"))
    second = apply(planned(home))

    assert getattr(candidate, attribute) == value
    assert [change.field for change in first.edited] == [change.field for change in second.edited] == [field]
    assert {change.field for change in second.replaced} == {"description", "duration"} - {field}
    assert edit in file_of(home).read_text()
