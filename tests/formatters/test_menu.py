"""Reports about skills: each foreign text is one visible line, long texts are cut, long lists are counted."""

from __future__ import annotations

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
from flowrail.formatters.reports import doctor, menu, skill_explanation
from flowrail.text.report import plain_text
from flowrail.text.safe_text import visible


def discovery_of(*candidates: Candidate, **more: Any) -> Discovery:
    return Discovery(candidates=candidates, skills=len(candidates), **more)


def text(discovery: Discovery, query: Query = Query(), **more: Any) -> str:  # noqa: B008 - a query is immutable
    return plain_text(menu.report(offer(discovery, MenuRequest(query)), discovery, **more))


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

    assert text(discovery_of(skill), Query(categories=("research", "law"))) == (
        "1 skill can take over. Score: fit to the request, at most 100.\n\n"
        "1. lit-pm (its name is Literature)  40 of 100\n"
        "   Comprehensive literature review (4-24 hours)\n"
        "   why: category +20 (has research of research, law); schema +20 (reads payload version 3.0)\n"
        "   payload 3.0 · takes 4-24 hours · global\n"
        "   for research, literature\n"
        "   needs question"
    )


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
skipped_skills = st.builds(
    Skipped,
    foreign,
    st.sampled_from(Scope),
    foreign,
    st.sampled_from(["UNREADABLE", "NO_HANDOFF"]),
    foreign,
    notes=st.just(()),
)


@given(st.lists(skills, max_size=4), st.lists(skipped_skills, max_size=3), foreign, foreign)
def test_no_text_of_a_skill_can_touch_a_terminal(
    candidates: list[Candidate], skipped: list[Skipped], path: str, word: str
) -> None:
    discovery = discovery_of(
        *candidates,
        hidden=tuple(candidates),
        skipped=tuple(skipped),
        places=Locations((Root(path, Scope.EXTRA, "--root", "missing"),)),
    )
    for request in (MenuRequest(Query(text=word)), MenuRequest(synthesis=Synthesis(word))):
        menu_of_skills = offer(discovery, request)
        assert is_harmless(plain_text(menu.report(menu_of_skills, discovery, everything=True)))
        for name in {path, *(skill.skill for skill in candidates)}:
            assert is_harmless(
                plain_text(
                    skill_explanation.report(
                        explain(discovery, name, asked=request.by), menu_of_skills, discovery
                    )
                )
            )


# --- the diagnosis --------------------------------------------------------------------------------


def finding(code: str = "CODE", severity: str = "warning", **more: str) -> dict[str, str]:
    defaults = {"message": "it is so", "remedy": "fix it", "place": ""}
    return {"section": "skills", "code": code, "severity": severity, **defaults, **more}


def diagnosis(*findings: dict[str, str]) -> dict[str, Any]:
    errors = sum(finding["severity"] == "error" for finding in findings)
    sections = {"installation": {"facts": ["x 1"]}, "skills": {"facts": []}}
    return {
        "errors": errors,
        "warnings": len(findings) - errors,
        "findings": findings,
        "sections": sections,
    }


def test_errors_come_first_and_a_shared_remedy_is_shown_once() -> None:
    page = doctor.report(
        **diagnosis(
            finding("SOFT", place="/a:1"),
            finding("HARD", "error", remedy="do a"),
            finding("HARD", "error", remedy="do b"),
        )
    )

    assert plain_text(page) == (
        "installation\n  x 1\n\n"
        "skills\n"
        "  error HARD (2 times)\n    it is so\n      = do a\n    it is so\n      = do b\n"
        "  warning SOFT: it is so (/a:1)\n    = fix it\n\n"
        "2 errors, 1 warning."
    )
