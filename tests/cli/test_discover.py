"""`flow discover`: what can take over, in which order and why; what cannot, and why not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import (
    flow,
    home_skills,
    project_skills,
    put_skill,
    sessions_folder,
    told,
)
from support.skills import head, put

from flowrail.discovery import menu_cache
from flowrail.operations.environment import Environment

BUILDER = (
    'handoff: {accepts_from: ["*"], schema_version: "3.0"}',
    "categories: [implementation, architecture]",
    "input_requirements: [specification]",
    "meta: {estimated_duration: days-to-weeks, autonomous: false}",
)


def builder(name: str = "builder", *more: str) -> str:
    return head(name, *BUILDER, *more, description="Builds what is specified.")


def names(*words: str) -> list[str]:
    return [candidate["skill"] for candidate in told("discover", *words)["candidates"]]


# --- the menu -------------------------------------------------------------------------------------


def test_the_menu_tells_name_description_score_and_why_schema_and_duration() -> None:
    put(home_skills(), "builder", builder())
    put(home_skills(), "reader")

    ran = flow("discover", "--category", "implementation")

    assert (ran.status, ran.err) == (0, "")
    installed, beside = ran.out.split("\n\nBundled", maxsplit=1)
    assert beside.startswith(" skills that can take over\n  planner ")
    assert installed == (
        "1 skill can take over, of 2 that accept handoffs. Score: fit to the request, at most 100.\n\n"
        "1. builder  70 of 100\n"
        "   Builds what is specified.\n"
        "   why: category +40 (has implementation); schema +20 (reads payload version 3.0); "
        "autonomy +10 (works supervised)\n"
        "   payload 3.0 · takes days-to-weeks · global\n"
        "   for implementation, architecture\n"
        "   needs specification"
    )


# --- nothing to offer -----------------------------------------------------------------------------


def test_where_none_is_installed_it_says_where_it_looked() -> None:
    ran = flow("discover")

    assert ran.status == 0
    assert ran.out.startswith("No skills installed.\nInstall skills to enable handoffs.\nLooked in:\n")
    assert f"  {home_skills()} (home) (missing)" in ran.out
    assert told("discover")["nothing"]["code"] == "NONE_INSTALLED"


# --- everything, and all about one ----------------------------------------------------------------


def test_everything_includes_what_does_not_fit_what_is_hidden_and_what_was_passed_over() -> None:
    near, far = put(project_skills(), "both"), put(home_skills(), "both")
    put(home_skills(), "builder", builder())
    broken = put(home_skills(), "broken", "no frontmatter")
    put(home_skills(), "closed", head("closed"))

    out = flow("discover", "--all", "--category", "research").out
    data = told("discover", "--all", "--category", "research")

    assert "Accept handoffs, but do not fit the request\n  builder: its categories are" in out
    assert f"    both: hidden by {near} ({far})" in out
    assert f"    broken: the file does not begin with `---` ({broken}:1)" in out
    assert "  NO_HANDOFF: declare handoff metadata if the skill should take over work" in out
    assert "    closed: it declares no handoff metadata" in out
    assert [(candidate["skill"], candidate["fits"]) for candidate in data["candidates"]] == [
        ("both", True),
        ("builder", False),
    ]
    assert data["candidates"][1]["misses"] == ["its categories are implementation, architecture"]
    assert [skill["path"] for skill in data["skipped"] if skill["code"] == "SHADOWED"] == [str(far)]


def test_why_tells_places_score_and_where_each_field_was_read() -> None:
    path = put(home_skills(), "builder", builder("builder", "metadata: {version: '7'}"))

    out = flow("discover", "--why", "builder", "--category", "implementation").out

    assert out.startswith(
        f"`builder` is offered, from {path}\n\nNumber 1 of 1 in the list of skills that fit.\n\nScore 70 of 100\n"
    )
    assert "  category   40 of 40  has implementation\n" in out
    assert "  categories: implementation, architecture  (from categories)\n" in out
    assert "  trigger: {payload_path}  (from default)\n" in out
    assert f"  {project_skills()} (cwd): missing\n" in out
    assert f"  {home_skills()} (home): {path}\n" in out


# --- kept for a session ---------------------------------------------------------------------------

SOON = datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def session() -> str:
    put(home_skills(), "builder", builder())
    put(home_skills(), "reader")
    put_skill("small", where=project_skills())
    return str(told("start", "small")["session"])


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Set the clock of the commands so many minutes after an hour from now."""

    def set_to(minutes: float) -> None:
        moment = (SOON + timedelta(minutes=minutes)).isoformat(timespec="milliseconds")
        monkeypatch.setattr(Environment, "now", property(lambda _: moment))

    set_to(0)
    return set_to


def cached_menu(session: str) -> menu_cache.CachedMenu:
    cached = menu_cache.read(str(sessions_folder() / session))
    assert cached
    return cached


def test_what_is_offered_is_kept_for_the_session(session: str, clock: Any) -> None:
    first = told("discover", "--session", session)

    assert (first["cache"]["used"], first["cache"]["reason"]) == (False, "no cache was found")
    assert Path(first["cache"]["path"]) == sessions_folder() / session / "available-workflows.yaml"
    assert [c.skill for c in cached_menu(session).candidates][:2] == ["builder", "reader"]
    assert cached_menu(session).scores == {}
    put(home_skills(), "later")  # not found while the cache is valid: nothing is scanned
    clock(29)
    again = told("discover", "--session", session)
    assert again["cache"]["used"] is True
    assert again["cache"]["timestamp"] == first["cache"]["timestamp"]
    assert [c["skill"] for c in again["candidates"]] == [c["skill"] for c in first["candidates"]]
    assert "later" in names("--session", session, "--rescan")
    assert "Cached for this session at " in flow("discover", "--session", session).out


@pytest.mark.parametrize(
    ("words", "minutes", "reason"),
    [((), 31, "it is older than 30 minutes"), (("--rescan",), 1, "a new scan was requested")],
)
def test_the_menu_is_read_again_when_it_has_expired_or_on_request(
    session: str, clock: Any, words: tuple[str, ...], minutes: int, reason: str
) -> None:
    told("discover", "--session", session)

    clock(minutes)
    out = flow("discover", "--session", session, *words).out

    assert f"Searched again, because {reason}; cached for this session in " in out
    assert abs(cached_menu(session).timestamp - (SOON + timedelta(minutes=minutes))) < timedelta(seconds=1)


def test_an_error_in_a_declaration_is_shown_with_its_line() -> None:
    put(home_skills(), "reader")
    broken = put(home_skills(), "broken", head("broken", "metadata:\n  handoff: 'accepts_handoff: [a'"))
    loose = put(
        home_skills(), "loose", head("loose", "handoff: {accepts_handoff: 1, handoff_categories: [a]}")
    )
    old = put(
        home_skills(),
        "old",
        head("old", 'handoff: {accepts_from: ["*"], schema_version: "1.2"}', "categories: [a]"),
    )
    put(home_skills(), "closed", head("closed"))

    out = flow("discover").out
    skipped = {skill["skill"]: (skill["code"], skill["severity"]) for skill in told("discover")["skipped"]}
    findings = {
        name: flow("check", str(path.parent), "--json").data["findings"]
        for name, path in (("broken", broken), ("loose", loose), ("old", old))
    }
    examined = {
        (finding["severity"], finding["code"]) for finding in flow("doctor", "--json").data["findings"]
    }

    assert "broken: `metadata.handoff` cannot be read: " in out
    assert f"({broken}:5)" in out
    assert f"    loose: `handoff.accepts_handoff` is `1`; expected `true` or `false` ({loose}:4)" in out
    assert f"    old: it reads payload version 1.2, and flow writes 2.0 and 3.0 ({old}:4)" in out
    assert "Skipped: 1 NO_HANDOFF." in out
    assert skipped == {
        "broken": ("INVALID_HANDOFF", "error"),
        "loose": ("INVALID_ACCEPTANCE", "error"),
        "old": ("UNSUPPORTED_VERSION", "warning"),
        "closed": ("NO_HANDOFF", "info"),
    }
    for name in ("broken", "loose", "old"):
        code, severity = skipped[name]
        assert [f["severity"] for f in findings[name] if f"[{code}]" in f["message"]] == [severity]
        assert (severity, code) in examined


def test_a_menu_that_cannot_be_cached_is_shown(session: str) -> None:
    (sessions_folder() / session / "available-workflows.yaml").mkdir()

    ran = flow("discover", "--session", session)

    assert ran.status == 0
    assert "1. builder" in ran.out
    assert "\nThe skills are not cached for this session: " in ran.out
