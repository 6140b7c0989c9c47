"""The skills that can take over a session's work are cached in a file that people read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.skills import candidate

from flowrail.discovery import menu_cache
from flowrail.discovery.locations import Scope

NOW = datetime(2026, 2, 7, 18, 30, tzinfo=UTC)
SKILLS = (
    candidate(
        "lit-pm",
        categories=("research", "literature"),
        description="Comprehensive literature review (4-24 hours)",
        trigger="--handoff {payload_path}",
    ),
    candidate(
        "programming-pm",
        scope=Scope.PROJECT,
        categories=("implementation",),
        description="Yes: no",
        schema_version="2.0",
        requires=("context.original_prompt",),
        autonomous=False,
        health_check="check --now",
        priority=0,
    ),
)


def test_each_entry_begins_with_the_keys_of_the_document(tmp_path: Path) -> None:
    assert menu_cache.write(str(tmp_path), SKILLS, NOW, {"lit-pm": 7}) == ""

    text = (tmp_path / menu_cache.FILE).read_text()
    assert text.startswith(
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
    )
    assert "  relevance_score: null\n" in text


@pytest.mark.parametrize(
    ("later", "resumed", "reason"),
    [
        (timedelta(minutes=30), None, ""),
        (timedelta(minutes=30, seconds=1), None, "it is older than 30 minutes"),
        (timedelta(minutes=-4), None, ""),
        (timedelta(minutes=-6), None, "its time is in the future"),
        (timedelta(minutes=2), NOW + timedelta(minutes=1), "the session was resumed"),
        (timedelta(minutes=2), NOW - timedelta(minutes=1), ""),
    ],
)
def test_a_cache_is_valid_for_30_minutes_unless_the_session_was_resumed(
    later: timedelta, resumed: datetime | None, reason: str
) -> None:
    cached = menu_cache.CachedMenu(menu_cache.Search(NOW), ())

    assert cached.stale(NOW + later, resumed=resumed) == reason
