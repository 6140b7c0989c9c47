"""`flow discover`: what can take over, in which order and why; what cannot, and why not."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import (
    flow,
    home_skills,
    process,
    project_skills,
    put_skill,
    refused,
    sessions_folder,
    told,
)
from support.skills import ACCEPTING, head, put, repository

from flowrail.discovery import session_menu_cache as menu_cache
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
    return [each["skill"] for each in told("discover", *words)["candidates"]]


# --- the menu -------------------------------------------------------------------------------------


def test_the_menu_tells_name_description_score_and_why_schema_and_duration() -> None:
    put(home_skills(), "builder", builder())
    put(home_skills(), "reader")

    ran = flow("discover", "--category", "implementation")

    assert (ran.status, ran.err) == (0, "")
    installed, beside = ran.out.split("\n\nBundled", maxsplit=1)
    assert beside.startswith(" skills that can take over\n  planner ")
    assert installed == (
        "1 skill can take over, of 2 that accept handoffs. Score: fit to the request, 0 to 100.\n\n"
        "1. builder  70 of 100\n"
        "   Builds what is specified.\n"
        "   why: category +40 (has implementation); schema +20 (3.0 to 3.0: yes, same version); "
        "autonomy +10 (works supervised, supervised is asked for)\n"
        "   schema 3.0: yes, same version · takes days-to-weeks · global\n"
        "   for implementation, architecture\n"
        "   needs specification"
    )


def test_the_json_is_a_list_of_candidates_and_one_of_skipped() -> None:
    put(home_skills(), "builder", builder())
    put(home_skills(), "closed", head("closed"))

    data = told("discover", "--category", "implementation")

    (candidate,) = data["candidates"]
    assert (candidate["skill"], candidate["score"], candidate["most"]) == ("builder", 70, 100)
    assert (candidate["duration"], candidate["fits"], candidate["shown"]) == ("days-to-weeks", True, True)
    assert candidate["schema"] == {"verdict": "yes", "reason": "same version"}
    assert sum(part["points"] for part in candidate["parts"]) == 70
    assert [(each["skill"], each["code"]) for each in data["skipped"]] == [("closed", "NO_HANDOFF")]
    assert data["skipped"][0]["hint"].startswith("add a `handoff:` block")
    assert data["counts"] == {"skills": 2, "accepting": 1, "fitting": 1, "shown": 1}
    assert (data["scorer"], data["nothing"], data["cache"], data["hidden"]) == ("query", None, None, [])
    assert [place["origin"] for place in data["places"]] == ["cwd", "cwd", "home", "home"]


def test_three_to_five_are_shown_and_the_number_that_is_asked_for() -> None:
    for number in range(7):
        put(home_skills(), f"reader-{number}")
        put(home_skills(), f"builder-{number}", builder(f"builder-{number}"))

    few, many = flow("discover", "--category", "research"), flow("discover", "--category", "implementation")

    assert few.out.count("\n   why:") == 5
    assert "2 more with `flow discover --all`." in many.out
    assert flow("discover", "--top", "1").out.count("\n   why:") == 1
    assert len(names()) == 14
    assert [each["shown"] for each in told("discover")["candidates"]] == [True] * 5 + [False] * 9
    assert names("--top", "2") == ["builder-0", "builder-1"]
    assert flow("discover", "--all").out.count("\n   why:") == 14
    assert refused("discover", "--top", "0")[0] == 2


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((), ["builder", "reader"]),
        (("--category", "research"), ["reader"]),
        (("--category", "research", "--category", "architecture"), ["builder", "reader"]),
        (("--from", "builder"), ["reader"]),
        (("--schema", "3.0"), ["builder"]),
        (("--schema", "2.0"), ["builder", "reader"]),
        (("--input", "specification"), ["builder"]),
        (("--text", "specified BUILDS"), ["builder"]),
        (("--text", "specif"), []),
    ],
)
def test_what_is_asked_for_decides_who_fits(words: tuple[str, ...], found: list[str]) -> None:
    put(home_skills(), "builder", builder())
    put(home_skills(), "reader")

    assert names(*words) == found


def test_a_problem_type_ranks_by_relevance() -> None:
    put(home_skills(), "builder", builder())
    put(project_skills(), "reader")

    data = told("discover", "--problem-type", "Strategic")

    assert data["scorer"] == "relevance"
    assert [(each["skill"], each["score"], each["most"]) for each in data["candidates"]] == [
        ("reader", 4, 10),
        ("builder", 3, 10),
    ]
    assert names("--problem-type", "strategic", "--category", "research") == ["reader"]
    assert "fit to the results of the work, 0 to 10." in flow("discover", "--problem-type", "creative").out


def test_an_unknown_problem_type_scores_nothing_and_says_so() -> None:
    put(home_skills(), "reader")

    ran = flow("discover", "--problem-type", "cosmic", "--why", "reader")

    assert "there is no problem type `cosmic`" in ran.out


def test_an_older_dialect_and_a_skill_elsewhere_are_marked() -> None:
    put(home_skills(), "reader")
    (home_skills().parent / "handoff-registry.yaml").write_text(
        'version: "1.0"\nworkflows:\n  - name: far\n    description: Far away\n'
        "    skill_path: https://example.org/far/SKILL.md\n"
        '    handoff: {accepts_from: ["*"]}\n    categories: [research]\n'
    )

    out = flow("discover").out

    assert "schema 2.0: partial, downgrade: tracing and tiered context are lost, legacy dialect" in out
    assert "remote (https://example.org/far/SKILL.md)" in out


# --- nothing to offer -----------------------------------------------------------------------------


def test_where_none_is_installed_it_says_where_it_looked() -> None:
    ran = flow("discover")

    assert ran.status == 0
    assert ran.out.startswith("No skills installed.\nInstall skills to enable handoffs.\nLooked in:\n")
    assert f"  {home_skills()} (home) (missing)" in ran.out
    assert told("discover")["nothing"]["code"] == "NONE_INSTALLED"


def test_where_none_accepts_it_counts_why() -> None:
    put(home_skills(), "one", head("one"))
    put(home_skills(), "two", head("two"))
    put(home_skills(), "three", head("three", "handoff: {accepts_handoff: false}"))

    ran, data = flow("discover"), told("discover")

    assert ran.out.startswith("3 skills found, none accept handoffs.\nTo enable handoffs, add `handoff:`")
    assert "  2 NO_HANDOFF: add a `handoff:` block to let it take over work" in ran.out
    assert data["candidates"] == []
    assert (data["nothing"]["code"], data["nothing"]["codes"]) == (
        "NONE_ACCEPTS",
        {"NO_HANDOFF": 2, "DECLINES_HANDOFFS": 1},
    )


def test_where_none_fits_it_tells_of_each_what_it_has() -> None:
    put(home_skills(), "builder", builder())
    put(home_skills(), "picky", head("picky", "handoff: {accepts_from: [builder]}", "categories: [law]"))

    ran = flow(
        "discover", "--category", "cooking", "--from", "reader", "--input", "recipe", "--schema", "1.2"
    )

    assert ran.out.startswith("2 skills accept handoffs, none fits what was asked.\nAsk for less")
    assert "  builder: its categories are implementation, architecture; schema 1.2 to 3.0: adapter" in ran.out
    assert "the inputs it takes are specification" in ran.out
    assert "it accepts work from builder, not from `reader`" in ran.out
    assert "it does not say which inputs it takes" in ran.out


def test_nobody_hands_work_to_itself() -> None:
    put(home_skills(), "builder", builder())

    assert "builder: nobody hands work to itself" in flow("discover", "--from", "builder").out


# --- everything, and all about one ----------------------------------------------------------------


def test_everything_includes_what_does_not_fit_what_is_hidden_and_what_was_passed_over() -> None:
    near, far = put(project_skills(), "both"), put(home_skills(), "both")
    put(home_skills(), "builder", builder())
    broken = put(home_skills(), "broken", "no frontmatter")
    put(home_skills(), "closed", head("closed"))

    out = flow("discover", "--all", "--category", "research").out
    data = told("discover", "--all", "--category", "research")

    assert "Accept handoffs, but do not fit the request\n  builder: its categories are" in out
    assert f"Hidden by a nearer folder of the same name\n  both: {far}, hidden by {near}" in out
    assert f"    broken: the file does not begin with `---` ({broken}:1)" in out
    assert "  NO_HANDOFF: add a `handoff:` block to let it take over work\n    closed: it has no" in out
    assert "LEGACY_DIALECT" in out
    assert [(each["skill"], each["fits"]) for each in data["candidates"]] == [
        ("both", True),
        ("builder", False),
    ]
    assert data["candidates"][1]["misses"] == ["its categories are implementation, architecture"]
    assert [each["hidden_by"] for each in data["hidden"]] == [str(near)]


def test_the_menu_counts_what_everything_would_tell() -> None:
    put(home_skills(), "reader")
    put(home_skills(), "closed", head("closed"))

    assert "Skipped: 1 NO_HANDOFF. `flow discover --all` lists them" in flow("discover").out


def test_why_tells_places_score_and_where_each_field_was_read() -> None:
    path = put(home_skills(), "builder", builder("builder", "metadata: {version: '7'}"))

    out = flow("discover", "--why", "builder", "--category", "implementation").out

    assert out.startswith(
        f"`builder` is offered, from {path}\n\nRank 1 of 1 skill that fit.\n\nScore 70 of 100\n"
    )
    assert "  category   40 of 40  has implementation\n" in out
    assert "  categories: implementation, architecture  (from categories)\n" in out
    assert "  trigger: {payload_path}  (from default)\n" in out
    assert f"  {project_skills()} (cwd): missing\n" in out
    assert f"  {home_skills()} (home): {path}\n" in out


def test_why_tells_who_hides_whom() -> None:
    near, far = put(project_skills(), "both"), put(home_skills(), "both")

    out = flow("discover", "--why", "both").out
    data = told("discover", "--why", "both")

    assert f"  both: {far}, hidden by {near}" in out
    assert "CLIENT_PREFERS_PERSONAL" in out
    assert (data["fits"], data["place"], data["misses"]) == (True, 1, [])
    assert [each["skill"] for each in data["candidates"]] == ["both"]
    assert [each["code"] for each in data["skipped"]] == ["SHADOWED"]
    assert data["score"]["score"] == 0


def test_why_tells_what_excluded_a_skill() -> None:
    put(home_skills(), "closed", head("closed", "handoff: {accepts_handoff: false}"))

    out = flow("discover", "--why", "closed").out

    assert out.startswith(
        "`closed` is not offered: it accepts no handoffs: `handoff.accepts_handoff` says so"
    )
    assert 'set `accepts_from: ["*"]`' in out
    assert told("discover", "--why", "closed")["fits"] is False


def test_why_tells_what_an_offered_skill_lacks_of_what_is_asked_for() -> None:
    put(home_skills(), "reader")

    out = flow("discover", "--why", "reader", "--category", "law").out

    assert "It does not fit the request: its categories are research." in out
    assert told("discover", "--why", "reader", "--category", "law")["misses"] == [
        "its categories are research"
    ]


def test_why_tells_that_the_menu_ends_before_it() -> None:
    for name in "abcd":
        put(home_skills(), name)

    assert "Rank 4 of 4 skills that fit; the menu shows 3." in flow("discover", "--why", "d").out


def test_a_name_that_nothing_goes_by_is_told_with_what_is_near() -> None:
    put(home_skills(), "builder", builder())

    ran = flow("discover", "--why", "bilder")

    assert ran.status == 0
    assert ran.out.startswith("nothing called `bilder` was found in any place\nDid you mean `builder`?")
    assert "Did you mean" not in flow("discover", "--why", "zzz").out


# --- where it looks -------------------------------------------------------------------------------


def test_further_places_and_deeper_ones_are_looked_at_when_asked() -> None:
    put(Path.cwd() / "more", "near")
    put(Path.cwd() / "more" / "group", "deep")

    assert names() == []
    assert names("--root", "more") == ["near"]
    assert names("--root", "more", "--recursive") == ["deep", "near"]


def test_a_place_that_was_asked_for_and_is_not_there_is_told() -> None:
    ran, data = flow("discover", "--root", "nowhere"), told("discover", "--root", "nowhere")

    assert f"PLACE_UNUSABLE: nothing can be found there: missing ({Path.cwd() / 'nowhere'})" in ran.out
    assert [each["code"] for each in data["notes"]] == ["PLACE_UNUSABLE"]


def test_git_is_asked_where_the_files_cannot_tell(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    outer = repository(tmp_path / "outer")
    put(outer / ".claude/skills", "outer-one")
    inner = repository(outer / "inner")
    monkeypatch.chdir(inner)

    assert names() == []


# --- foreign text ---------------------------------------------------------------------------------


def test_what_skills_say_cannot_touch_the_terminal() -> None:
    nasty = "\x1b[2J\u202egnitaerht\x07 \u2028line"
    put(home_skills(), "nasty", head(f'"{nasty}"', ACCEPTING, description=f'"{nasty}"'))
    put(home_skills(), "wide", head("wide", ACCEPTING.replace("Digs deeper", "x" * 5_000)))
    put(home_skills(), "a\x1b[31m\nb")

    for words in ((), ("--all",), ("--why", "nasty"), ("--why", "a\x1b[31m\nb"), ("--text", "\x1b[2J")):
        ran = flow("discover", *words)
        assert ran.status == 0
        assert not [each for each in ran.out if not each.isprintable() and each != "\n"]
        assert max(map(len, ran.out.splitlines())) < 1_000


def test_notes_are_capped() -> None:
    for number in range(30):
        put(home_skills(), f"s{number:02}")
        put(project_skills(), f"s{number:02}")

    out = flow("discover").out

    assert out.count("HIDES_ELIGIBLE") + out.count("CLIENT_PREFERS_PERSONAL") == 20
    assert "and 40 more; --json has them all" in out
    assert len(told("discover")["notes"]) == 60


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


def kept(session: str) -> menu_cache.SavedMenu:
    found = menu_cache.read(str(sessions_folder() / session))
    assert found
    return found


def test_what_is_offered_is_kept_for_the_session(session: str, clock: Any) -> None:
    first = told("discover", "--session", session)

    assert (first["cache"]["used"], first["cache"]["reason"]) == (False, "there is no cache that can be read")
    assert Path(first["cache"]["path"]) == sessions_folder() / session / "available-workflows.yaml"
    assert [(each.skill, each.relevance_score) for each in kept(session).workflows] == [
        ("builder", None),
        ("reader", None),
    ]
    clock(29)
    again = told("discover", "--session", session)
    assert again["cache"]["used"] is True
    assert again["cache"]["timestamp"] == first["cache"]["timestamp"]
    assert again["candidates"] == first["candidates"]
    assert "Cached for this session at " in flow("discover", "--session", session).out


@pytest.mark.parametrize(
    ("words", "minutes", "reason"),
    [((), 31, "it is older than 30 minutes"), (("--rescan",), 1, "a new scan was asked for")],
)
def test_it_is_found_anew_when_its_time_is_over_or_on_request(
    session: str, clock: Any, words: tuple[str, ...], minutes: int, reason: str
) -> None:
    told("discover", "--session", session)

    clock(minutes)
    out = flow("discover", "--session", session, *words).out

    assert f"New search, because {reason}; cached for this session in " in out
    assert abs(kept(session).timestamp - (SOON + timedelta(minutes=minutes))) < timedelta(seconds=1)


def test_a_changed_skill_a_further_one_and_one_that_went_make_it_new(session: str, clock: Any) -> None:
    told("discover", "--session", session)
    clock(1)

    os.utime(home_skills() / "reader/SKILL.md", (SOON.timestamp() + 30, SOON.timestamp() + 30))
    assert told("discover", "--session", session)["cache"]["reason"] == "a skill has changed since"
    put(Path.cwd() / "more", "third")
    assert told("discover", "--session", session, "--root", "more")["cache"]["reason"] == (
        "other skills are in sight than then"
    )
    assert [each.skill for each in kept(session).workflows] == ["builder", "reader", "third"]
    assert told("discover", "--session", session)["cache"]["used"] is False


def test_scores_are_kept_and_shown_again(session: str, clock: Any) -> None:
    told("discover", "--session", session)
    clock(1)

    told("discover", "--session", session, "--problem-type", "implementation")
    clock(2)

    assert [(each.skill, each.relevance_score) for each in kept(session).workflows] == [
        ("builder", 3),
        ("reader", 0),
    ]
    assert abs(kept(session).timestamp - SOON) < timedelta(seconds=1)
    again = flow("discover", "--session", session)
    assert "Relevance to its work, 0 to 10: builder 3, reader 0." in again.out
    assert told("discover", "--session", session)["cache"]["scores"] == {"builder": 3, "reader": 0}


def test_what_the_session_has_shown_counts_for_relevance(clock: Any) -> None:
    put(home_skills(), "reader")
    text = (
        "name: NAME\nparams: {synthesis_summary: {type: string}, convergence_level: {type: string}}\n"
        "steps:\n  - {id: a, title: A, actions: [x], next: {ok: null}}\n"
    )
    put_skill("small", text, where=project_skills())
    session = told("start", "small", "-p", "convergence_level=low")["session"]

    with_it = told("discover", "--session", session, "--problem-type", "creative")
    without = told("discover", "--problem-type", "creative")

    assert (with_it["candidates"][0]["score"], without["candidates"][0]["score"]) == (5, 3)


@pytest.mark.parametrize("at", ["later", "no time"])
def test_a_session_that_was_taken_up_elsewhere_discovers_again(session: str, clock: Any, at: str) -> None:
    told("discover", "--session", session)
    moment = (SOON + timedelta(minutes=1)).isoformat() if at == "later" else at
    with Environment().store.change(session) as change:
        change.commit(change.kept.session, kind="rewind", at=moment, by="me", note={"from": 0, "to": 0})
    clock(2)

    assert told("discover", "--session", session)["cache"]["reason"] == "the session was resumed"
    clock(3)
    assert told("discover", "--session", session)["cache"]["used"] is (at == "later")


def test_a_session_that_was_resumed_discovers_again(session: str, clock: Any) -> None:
    told("discover", "--session", session)
    clock(1)
    assert told("discover", "--session", session)["cache"]["used"]

    assert flow("resume", session).status == 0
    assert flow("resume", session).status == 0

    assert not told("discover", "--session", session)["cache"]["used"]
    assert told("discover", "--session", session)["cache"]["used"]


def test_a_session_that_is_not_there_or_not_ones_own_is_refused(
    session: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert refused("discover", "--session", "small-aaaaaa")[0] == 2
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert refused("discover", "--session", session)[0] == 7
    assert not (sessions_folder() / session / "available-workflows.yaml").exists()


def test_where_nothing_can_be_kept_the_menu_is_shown_and_that_is_told(session: str) -> None:
    (sessions_folder() / session / "available-workflows.yaml").mkdir()

    ran = flow("discover", "--session", session)

    assert ran.status == 0
    assert "1. builder" in ran.out
    assert ran.err.startswith("flow: not kept for the session: ")


# --- what it costs --------------------------------------------------------------------------------

HEAVY = (
    "statemachine",
    "pydantic",
    "cattrs",
    "asyncio",
    "subprocess",
    "ruamel",
    "flowrail.machines.sessions.store",
)
TELL = (
    "import atexit, sys\n"
    f"atexit.register(lambda: sys.stderr.write(' '.join(each for each in {HEAVY!r} if each in sys.modules)))"
)


@pytest.mark.parametrize(
    "words", [("discover",), ("discover", "--all"), ("discover", "--why", "reader"), ("discover", "--json")]
)
def test_nothing_heavy_is_imported(words: tuple[str, ...]) -> None:
    put(home_skills(), "reader")

    ran = process(*words, before=TELL)

    assert (ran.status, ran.err) == (0, "")
    assert "reader" in ran.out


@pytest.mark.parametrize("command", [["discover"], ["handoff", "targets"]])
def test_a_problem_type_that_nobody_knows_is_said_to_be_none(command: list[str]) -> None:
    ran = flow(*command, "--problem-type", "Astrological")

    assert ran.status == 0
    assert (
        "there is no problem type `astrological`, so it counts for nobody; there are strategic, " in ran.err
    )
    assert not flow(*command, "--problem-type", "strategic").err


def test_a_schema_version_that_nobody_knows_is_said_to_be_none() -> None:
    assert (
        "there is no schema version `9`; there are 1.0, 1.2, 2.0, 3.0"
        in flow("discover", "--schema", "9").err
    )
    assert not flow("discover", "--schema", "v3").err
