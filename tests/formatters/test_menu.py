"""Pages about skills: every foreign piece one visible line, long ones cut, many of them counted."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.skills import candidate

from flowrail.discovery.candidate import Candidate, Skipped
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.index import Discovery
from flowrail.discovery.locations import Locations, Root, Scope
from flowrail.discovery.ranking.explain import explain
from flowrail.discovery.ranking.menu import MenuRequest, offer
from flowrail.discovery.ranking.scores import Query, Synthesis
from flowrail.discovery.session_menu_cache import SessionMenu
from flowrail.formatters.reports import doctor, menu, skill_explanation
from flowrail.formatters.reports.notes import notes
from flowrail.text.safe_text import shortened, visible

NOW = datetime(2026, 2, 7, 18, 30, tzinfo=UTC)


def found(*candidates: Candidate, **more: Any) -> Discovery:
    return Discovery(candidates=candidates, skills=len(candidates), **more)


def text(discovery: Discovery, query: Query = Query(), **more: Any) -> str:  # noqa: B008 - it cannot be changed
    return menu.render(offer(discovery, MenuRequest(query)), discovery, **more)


def is_harmless(page: str) -> bool:
    return visible(page) == page and "\t" not in page


# --- the menu -------------------------------------------------------------------------------------


def test_an_offer_is_a_short_block_with_everything_to_choose_by() -> None:
    skill = candidate(
        "lit-pm",
        name="Literature",
        description="Comprehensive literature review (4-24 hours)",
        categories=("research", "literature"),
        duration="4-24 hours",
        input_requirements=("question",),
    )

    assert text(found(skill), Query(categories=("research", "law"))) == (
        "1 skill can take over. Score: fit to the request, 0 to 100.\n\n"
        "1. lit-pm (its name is Literature)  40 of 100\n"
        "   Comprehensive literature review (4-24 hours)\n"
        "   why: category +20 (has research of: research, law); schema +20 (3.0 to 3.0: yes, same version)\n"
        "   schema 3.0: yes, same version · takes 4-24 hours · global\n"
        "   for research, literature\n"
        "   needs question"
    )


def test_what_counts_against_a_skill_is_a_reason_too() -> None:
    page = text(found(candidate(schema_version="2.0")), Query(chain=("a-skill",)))

    assert (
        "   why: loop -30 (`a-skill` is in the chain already); floor +30 (a score is never below 0)" in page
    )
    assert "duration unknown" in page


def test_where_nothing_counts_that_is_said() -> None:
    assert "why: no points" in text(found(candidate(schema_version="2.0")))


def test_long_texts_are_cut_and_many_values_counted() -> None:
    wide = candidate(description="x" * 9_000, categories=tuple(f"c{each}" for each in range(30)))

    page = text(found(wide))

    assert f"   {'x' * 239}…\n" in page
    assert page.endswith("c10, c11 and 18 more")


def test_the_many_that_do_not_fit_are_counted() -> None:
    several = [candidate(f"s{each:02}") for each in range(15)]

    page = text(found(*several), Query(categories=("law",)))

    assert page.count("its categories are research") == 10
    assert page.endswith("  and 5 more; --all lists them all")


def test_a_cache_says_whether_it_was_used() -> None:
    used = SessionMenu("/s/available-workflows.yaml", NOW, True, "", {"b": 2, "a-skill": 7})
    anew = SessionMenu("/s/available-workflows.yaml", NOW, False, "it is older than 30 minutes")

    assert text(found(candidate()), kept=used).endswith(
        "Cached for this session at 2026-02-07 18:30:00 UTC (/s/available-workflows.yaml); "
        "`--rescan` searches again. Relevance to its work, 0 to 10: a-skill 7, b 2."
    )
    assert text(found(candidate()), kept=anew).endswith(
        "New search, because it is older than 30 minutes; cached for this session in /s/available-workflows.yaml."
    )
    data = menu.data(offer(found(candidate()), MenuRequest()), found(candidate()), kept=used)
    assert json.loads(json.dumps(data))["cache"]["timestamp"] == "2026-02-07T18:30:00+00:00"


foreign = st.text(st.sampled_from("ab 1.\n\r\t\x1b\x07\x9b\u202e\u2028\u200b\ufeff\ud800é…`"), max_size=9)
skills = st.builds(
    candidate,
    foreign,
    name=foreign,
    description=foreign,
    categories=st.lists(foreign, min_size=1, max_size=20).map(tuple),
    trigger=foreign,
    schema_version=foreign,
    duration=foreign,
    tags=st.lists(foreign, max_size=3).map(tuple),
    origins=st.dictionaries(st.sampled_from(["name", "tags"]), foreign),
    notes=st.lists(st.builds(Note, st.just("SHADOWED"), foreign, foreign), max_size=3).map(tuple),
    scope=st.sampled_from(Scope),
    remote=st.booleans(),
)
passed = st.builds(
    Skipped,
    foreign,
    st.sampled_from(Scope),
    foreign,
    st.sampled_from(["UNREADABLE", "NO_HANDOFF"]),
    foreign,
    notes=st.just(()),
)


@given(st.lists(skills, max_size=4), st.lists(passed, max_size=3), foreign, foreign)
def test_no_text_of_a_skill_can_touch_a_terminal(
    candidates: list[Candidate], skipped: list[Skipped], path: str, word: str
) -> None:
    seen = found(
        *candidates,
        hidden=tuple(each._replace(hidden_by=path) for each in candidates),
        skipped=tuple(skipped),
        places=Locations((Root(path, Scope.EXTRA, "--root", "missing"),)),
    )
    for asked in (MenuRequest(Query(text=word)), MenuRequest(synthesis=Synthesis(word))):
        offered = offer(seen, asked)
        assert is_harmless(menu.render(offered, seen, everything=True))
        for name in {path, *(each.skill for each in candidates)}:
            assert is_harmless(skill_explanation.render(explain(seen, name, asked=asked.by), offered, seen))


@given(st.lists(skills, max_size=4), st.lists(passed, max_size=3), st.integers(1, 5))
def test_the_data_are_plain_and_say_what_the_page_says(
    candidates: list[Candidate], skipped: list[Skipped], top: int
) -> None:
    seen = found(*candidates, skipped=tuple(skipped))
    offered = offer(seen, MenuRequest())

    data = json.loads(json.dumps(menu.data(offered, seen, everything=True)))

    assert len(data["candidates"]) == len(candidates)
    assert len(data["skipped"]) == len(skipped)
    assert sum(each["shown"] for each in data["candidates"]) == data["counts"]["shown"] <= 5
    assert len(menu.data(offered, seen, top=top)["candidates"]) == min(top, len(candidates))
    assert (data["nothing"] is None) is bool(candidates)


# --- lines ----------------------------------------------------------------------------------------


@given(foreign, st.integers(2, 30))
def test_a_line_is_one_visible_line_of_bounded_length(text: str, longest: int) -> None:
    shown = shortened(text, longest)

    assert is_harmless(shown)
    assert "\n" not in shown
    assert len(shown) <= longest


def test_a_text_that_is_cut_ends_in_a_mark() -> None:
    assert shortened("ab cd", 5) == "ab cd"
    assert shortened("ab cde", 5) == "ab c…"
    assert shortened(" " * 1_000 + "x", 5) == "…"


def test_notes_stand_once_and_the_first_of_them_only() -> None:
    several = [Note("SHADOWED", f"reason {each}", "/f", each) for each in range(25)]

    page = notes([several[0], *several])

    assert page.startswith("To know\n  SHADOWED: reason 0 (/f)\n    rename one of the two")
    assert page.count("reason") == 20
    assert page.endswith("  and 5 more; --json has them all")
    assert notes([]) == ""


# --- the examination ------------------------------------------------------------------------------


def finding(code: str = "CODE", severity: str = "warning", **more: str) -> dict[str, str]:
    dull = {"message": "it is so", "remedy": "mend it", "place": ""}
    return {"section": "skills", "code": code, "severity": severity, **dull, **more}


def examined(*findings: dict[str, str]) -> dict[str, Any]:
    errors = sum(each["severity"] == "error" for each in findings)
    sections = {"installation": {"facts": ["x 1"]}, "skills": {"facts": []}}
    return {
        "errors": errors,
        "warnings": len(findings) - errors,
        "findings": findings,
        "sections": sections,
    }


def test_errors_come_first_and_the_same_remedy_stands_once() -> None:
    page = doctor.render(
        examined(
            finding("SOFT", place="/a:1"),
            finding("HARD", "error", remedy="do a"),
            finding("HARD", "error", remedy="do b"),
        )
    )

    assert page == (
        "installation\n  x 1\n\n"
        "skills\n"
        "  error HARD (2 times)\n    it is so\n      do a\n    it is so\n      do b\n"
        "  warning SOFT: mend it\n    it is so (/a:1)\n\n"
        "2 errors, 1 warning."
    )


def test_where_nothing_is_found_that_is_the_last_word() -> None:
    assert doctor.render(examined()) == "installation\n  x 1\n\nskills\n\nnothing is wrong."
