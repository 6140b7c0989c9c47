"""`flow discover`: what can take over, in which order and why; what cannot, and why not."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.handoffs import ours, receive, send, target
from support.handoffs import session as source_session
from support.sandbox import (
    SMALL,
    findings_of,
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
from flowrail.text import yaml as yaml_text

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


def test_the_menu_shows_name_description_score_and_why_payload_and_duration() -> None:
    put(home_skills(), "builder", builder())
    put(home_skills(), "reader")

    ran = flow("discover", "--category", "implementation", "--top", "1")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out == (
        "4 skills can take over. Score: fit to the request, at most 100.\n\n"
        "1. builder  70 of 100\n"
        "   Builds what is specified.\n"
        "   why       category +40 (has implementation); schema +20 (reads payload version 3.0); "
        "autonomy +10 (works supervised)\n"
        "   payload   3.0, compatible\n"
        "   takes     days-to-weeks\n"
        "   from      global\n"
        "   for       implementation, architecture\n"
        "   needs     specification\n\n"
        "3 more with --all.\n"
    )


def test_if_none_is_installed_it_says_where_it_looked() -> None:
    ran = flow("discover")

    assert ran.status == 0
    assert ran.out.startswith("No skills installed.\nInstall skills to enable handoffs.\n  searched ")
    assert f"  searched {home_skills()} (home, missing)" in ran.out
    answer = told("discover")
    assert answer["nothing"]["code"] == "NONE_INSTALLED"
    assert set(answer["searched"][0]) == {"path", "scope", "origin", "problem", "own"}


def test_an_installed_user_can_open_the_page_on_handoff_metadata() -> None:
    put(home_skills(), "plain", head("plain"))

    hint = told("discover")["nothing"]["hint"]

    assert hint.startswith("To enable handoffs, add `handoff:` metadata to SKILL.md. See: flow ")
    explained = flow(*hint.partition("flow ")[2].split()).out
    categories, _, handoff = explained.partition("Declare ")[2].split("`")[1:4]
    put(home_skills(), "plain", head("plain", categories, handoff))
    assert "](" not in explained
    assert "plain" in names()


def test_all_includes_what_does_not_fit_and_one_sentence_for_each_skill_that_was_left_out() -> None:
    near, far = put(project_skills(), "both"), put(home_skills(), "both")
    put(home_skills(), "builder", builder())
    broken = put(home_skills(), "broken", "no frontmatter")
    closed = put(home_skills(), "closed", head("closed"))

    out = flow("discover", "--all", "--category", "research").out
    data = told("discover", "--all", "--category", "research")

    assert "Accept handoffs, but do not fit the request\n  builder: its categories are" in out
    assert f"Cannot take over\n  broken: the file does not begin with `---` ({broken}:1)\n" in out
    assert f"\n  closed: it declares no handoff metadata ({closed})\n" in out
    assert f"\n  both: hidden by {near}, though some hosts start this one ({far})" in out
    assert "both" in [candidate["skill"] for candidate in data["candidates"]]
    assert data["unfit"][0]["misses"] == ["its categories are implementation, architecture"]


def test_a_skill_with_an_error_is_always_named_with_its_line() -> None:
    put(home_skills(), "reader")
    broken = put(home_skills(), "broken", head("broken", "metadata:\n  handoff: 'accepts_handoff: [a'"))
    loose = put(
        home_skills(), "loose", head("loose", "handoff: {accepts_handoff: maybe, handoff_categories: [a]}")
    )
    old = put(
        home_skills(),
        "old",
        head("old", 'handoff: {accepts_from: ["*"], schema_version: "1.2"}', "categories: [a]"),
    )
    put(home_skills(), "closed", head("closed"))

    out = flow("discover").out
    findings = {
        name: [finding["severity"] for finding in findings_of(str(path.parent))]
        for name, path in (("broken", broken), ("loose", loose), ("old", old))
    }
    sections = flow("doctor", "--json").data["sections"]
    examined = [finding["place"] for section in sections for finding in section["findings"]]

    assert "  broken: `metadata.handoff` cannot be read: " in out
    assert f"({broken}:5)" in out
    assert f"  loose: `handoff.accepts_handoff` must be true or false ({loose}:4)" in out
    assert f"  old: it reads payload version 1.2, and flow writes 2.0 and 3.0 ({old}:4)" in out
    assert "1 skill left out; --all says why." in out
    assert findings == {"broken": ["error"], "loose": ["error"], "old": ["warning"]}
    assert {f"{broken}:5", f"{loose}:4", f"{old}:4"} <= set(examined)


# --- commands that hand over ----------------------------------------------------------------------


def test_no_command_is_printed_for_a_target_that_would_be_refused() -> None:
    for name in ("a", "b"):
        ours(name)
    taken = receive(send("b", source_session("a"))).data["step"]["session"]

    out = flow("discover", "--session", taken, "--category", "research").out
    offers = {offer["skill"]: offer for offer in told("discover", "--session", taken)["candidates"]}

    assert offers["a"]["command"] is None
    assert "a already appears in the handoff chain" in offers["a"]["refused"]
    assert "add `--yes` and `--reason WHY` if the user wants this" in offers["a"]["refused"]
    assert "flow handoff send a " not in out
    assert "b" not in offers
    assert offers["planner"]["command"] == f"flow handoff send planner --session {taken}"


def test_a_received_handoff_counts_for_its_target_and_its_session_has_a_problem_type() -> None:
    def parts(*words: str) -> dict[str, dict[str, int]]:
        found = told("discover", *words)["candidates"]
        return {c["skill"]: {part["rule"]: part["points"] for part in c["parts"]} for c in found}

    for name in ("digger", "other"):
        target(name)
    ours("builder", SMALL)
    session_id = source_session()
    asked = ["--category", "research"]
    assert parts(*asked)["digger"]["history"] == 0
    send("other", session_id)
    receive(send("digger", session_id))
    taken = receive(send("builder", session_id)).data["step"]["session"]

    assert parts(*asked)["digger"]["history"] == 10
    assert parts(*asked)["other"]["history"] == 0
    assert parts("--session", taken)["digger"]["problem type"] == 3


# --- kept for a session ---------------------------------------------------------------------------

SOON = datetime.now(UTC) + timedelta(hours=1)


@pytest.fixture
def session() -> str:
    put(home_skills(), "builder", builder())
    put(home_skills(), "reader")
    put_skill("small", where=project_skills())
    return str(told("step", "small", "--new")["session"])


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


def cached_scores(session: str) -> set[object]:
    text = (sessions_folder() / session / "available-workflows.yaml").read_bytes()
    content: Any = yaml_text.load(text, source="cache").value
    return {entry["relevance_score"] for entry in content["workflows"]}


def test_what_is_offered_is_kept_for_the_session(session: str, clock: Any) -> None:
    first = told("discover", "--session", session)

    assert first["cached_at"] == ""
    assert [c.skill for c in cached_menu(session).workflows][:2] == ["builder", "reader"]
    assert cached_scores(session) == {None}
    put(home_skills(), "later")  # not found while the cache is valid: nothing is scanned
    clock(29)
    again = told("discover", "--session", session)
    assert again["cached_at"] == cached_menu(session).discovery.timestamp.isoformat()
    assert [c["skill"] for c in again["candidates"]] == [c["skill"] for c in first["candidates"]]
    assert "later" in names("--session", session, "--rescan")
    assert "; --rescan searches again." in flow("discover", "--session", session).out


def test_the_cache_is_invalid_after_the_session_was_resumed(session: str) -> None:
    ranked = told("discover", "--session", session, "--problem-type", "strategic")
    put(home_skills(), "later")

    menu = told("discover", "--session", session)
    cached = cached_scores(session)
    told("resume", session)

    assert (bool(ranked["cached_at"]), bool(menu["cached_at"])) == (False, True)
    assert "later" not in [candidate["skill"] for candidate in menu["candidates"]]
    assert 3 in cached
    assert "later" in names("--session", session)
