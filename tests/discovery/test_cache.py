"""One discovery kept for a session, as a file that people read."""

import os
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from support.skills import candidate, put

from flowrail.discovery import session_menu_cache as menu_cache
from flowrail.discovery.locations import Scope, skill_roots
from flowrail.text import yaml as yaml_text

NOW = datetime(2026, 2, 7, 18, 30, tzinfo=UTC)
SOME = [
    candidate(
        "lit-pm",
        categories=("research", "literature"),
        description="Comprehensive literature review (4-24 hours)",
        trigger="--handoff {payload_path}",
    ),
    candidate("programming-pm", scope=Scope.PROJECT, categories=("implementation",), description="Yes: no"),
]


def test_the_file_has_the_form_of_the_document() -> None:
    assert menu_cache.document(SOME, NOW, {"lit-pm": 7}) == (
        "discovery:\n"
        "  timestamp: '2026-02-07T18:30:00.000Z'\n"
        "  ttl_minutes: 30\n"
        "workflows:\n"
        "- skill: lit-pm\n"
        "  scope: global\n"
        "  priority: 3\n"
        "  categories:\n"
        "  - research\n"
        "  - literature\n"
        "  description: Comprehensive literature review (4-24 hours)\n"
        "  trigger: --handoff {payload_path}\n"
        "  relevance_score: 7\n"
        "- skill: programming-pm\n"
        "  scope: project\n"
        "  priority: 1\n"
        "  categories:\n"
        "  - implementation\n"
        "  description: 'Yes: no'\n"
        "  trigger: '{payload_path}'\n"
        "  relevance_score: null\n"
    )


@pytest.mark.parametrize(
    "odd",
    [{"relevance_score": "high"}, {"relevance_score": []}, {"relevance_score": 1.5}, {"skill": ["lit-pm"]},
     {"scope": {}}, {"description": None}, {"categories": [["a"]]}, {"categories": 5}],
)  # fmt: skip
def test_a_cache_with_a_value_of_another_kind_is_none(tree: Path, odd: dict[str, object]) -> None:
    one = {
        "skill": "lit-pm",
        "scope": "global",
        "priority": 1,
        "categories": ["a"],
        "description": "x",
        "trigger": "x",
    }
    head = {"timestamp": "2026-02-07T18:30:00Z", "ttl_minutes": 30}
    for each, is_read in ((one, True), ({**one, **odd}, False)):
        (tree / menu_cache.FILE).write_text(yaml_text.dump({"discovery": head, "workflows": [each]}))

        assert (menu_cache.read(str(tree)) is not None) == is_read


def kept(**changes: object) -> menu_cache.SavedMenu:
    return menu_cache.SavedMenu(NOW, 30, ())._replace(**changes)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (NOW, ""),
        (NOW + timedelta(minutes=30), ""),
        (NOW + timedelta(minutes=30, seconds=1), "it is older than 30 minutes"),
        (NOW - timedelta(minutes=5), ""),
        (NOW - timedelta(minutes=6), "it is from the future"),
        ((NOW + timedelta(minutes=10)).astimezone(timezone(timedelta(hours=5))), ""),
    ],
)
def test_a_cache_is_good_for_thirty_minutes(now: datetime, reason: str) -> None:
    assert kept().stale(now) == reason


def test_a_resumed_session_discovers_again() -> None:
    assert kept().stale(NOW, resumed=True) == "the session was resumed"


def test_a_file_that_is_newer_makes_it_stale() -> None:
    assert kept().stale(NOW, changed=NOW - timedelta(minutes=1)) == ""
    assert kept().stale(NOW, changed=NOW - timedelta(seconds=1)) == "a skill has changed since"
    assert kept().stale(NOW, changed=NOW + timedelta(seconds=1)) == "a skill has changed since"


def test_what_is_good_is_used_and_else_it_says_why_not(tree: Path) -> None:
    put(tree / ".claude/skills", "one")
    roots = skill_roots(str(tree), str(tree), {})
    later = datetime.now(UTC) + timedelta(minutes=5)

    assert menu_cache.current(str(tree), later, roots=roots) == (None, "there is no cache that can be read")
    menu_cache.write(str(tree), SOME, later)
    found, reason = menu_cache.current(str(tree), later, roots=roots)
    assert (found, reason) == (menu_cache.read(str(tree)), "")
    assert menu_cache.current(str(tree), later, roots=roots, rescan=True) == (
        None,
        "a new scan was asked for",
    )
    assert menu_cache.current(str(tree), later, roots=roots, resumed=True) == (
        None,
        "the session was resumed",
    )
    os.utime(tree / ".claude/skills/one/SKILL.md", (later.timestamp(), later.timestamp()))
    assert menu_cache.current(str(tree), later, roots=roots) == (None, "a skill has changed since")


def test_the_newest_change_is_that_of_any_file_that_counts(tree: Path) -> None:
    path = put(tree / ".claude/skills", "one")
    put(tree / ".claude/skills", ".hidden")
    registry = tree / "registry.yaml"
    registry.write_text("x")
    roots = skill_roots(str(tree), str(tree), {})
    now = datetime.now(UTC)
    for place in (path, path.parent, path.parent.parent):
        os.utime(place, (0, 0))

    changed = menu_cache.newest_change(roots)

    assert changed
    assert abs(now - changed) < timedelta(minutes=1)
    os.utime(path, (2e9, 2e9))
    assert menu_cache.newest_change(roots, [str(registry)]) == datetime.fromtimestamp(2e9, UTC)
