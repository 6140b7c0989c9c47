"""Order of fit, and the reasons for it."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.skills import candidate

from flowrail.discovery.compatibility import VERSIONS
from flowrail.discovery.locations import Scope
from flowrail.discovery.scores import (
    Query,
    ScorePart,
    Synthesis,
    rank,
    rate,
    read_synthesis,
    score_query,
    score_relevance,
    shortlist,
)


def points(parts: tuple[ScorePart, ...]) -> int:
    return sum(part.points for part in parts)


# --- the first scorer -----------------------------------------------------------------------------


FLAT = {
    "problem_type": "Strategic",
    "synthesis_summary": "build",
    "key_uncertainties": ["a", "b", "c"],
    "convergence_level": "low",
}
V1 = {
    "handoff": {
        "payload": {
            "problem_type": "strategic",
            "synthesis_summary": "build",
            "key_uncertainties": ["a", "b", "c"],
        },
        "context": {"convergence_level": "low"},
    }
}
V2 = {
    "handoff": {
        "context": {"problem_type": "strategic", "synthesis_summary": "build"},
        "insights": {"uncertainties": ["a", "b", "c"]},
        "meta": {"convergence_level": "low"},
    }
}


@pytest.mark.parametrize(
    "written",
    [
        FLAT,
        V1,
        V2,
    ],
)
def test_a_synthesis_is_understood_however_it_is_written(written: Any) -> None:
    assert read_synthesis(written) == Synthesis("strategic", "build", ("a", "b", "c"), "low")


# --- the second scorer ----------------------------------------------------------------------------


QUERIES = st.builds(
    Query,
    st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
    schema_version=st.sampled_from(["", *VERSIONS, "next"]),
    inputs=st.lists(st.sampled_from("abc"), max_size=3).map(tuple),
    supervised=st.booleans(),
    history=st.lists(st.sampled_from(["a-skill", "b"]), max_size=2),
    chain=st.lists(st.sampled_from(["a-skill", "b"]), max_size=2),
)


@given(
    QUERIES,
    st.sampled_from(VERSIONS),
    st.sampled_from(["", "universal"]),
    st.sampled_from([True, False, None]),
)
def test_the_parts_add_up_and_the_whole_stays_within_bounds(
    query: Query, version: str, schema_type: str, autonomous: bool | None
) -> None:
    score = score_query(
        query,
        candidate(
            categories=("a",),
            input_requirements=("b",),
            schema_version=version,
            schema_type=schema_type,
            autonomous=autonomous,
        ),
    )

    assert -30 <= points(score) <= 100
    assert all(part.reason and part.points <= part.most for part in score)


BUILD = "We should build it"
MANY = ("a", "b", "c")
RELEVANCE_CASES: list[tuple[Synthesis, tuple[str, ...], str, int]] = [
    (Synthesis("strategic"), ("research",), "global", 3),
    (Synthesis("strategic"), ("implementation",), "global", 0),
    (Synthesis("analytical", "", MANY), ("research",), "global", 5),
    (Synthesis("analytical", "", MANY[:2]), ("research",), "global", 3),
    (Synthesis("analytical", "", ("a", "a", "a")), ("research",), "global", 5),
    (Synthesis("", "She builds, he creates"), ("implementation",), "global", 2),
    (Synthesis("", "Barcodes and recreation"), ("implementation",), "global", 0),
    (Synthesis("", "", (), "low"), ("research",), "global", 2),
    (Synthesis("", "", (), "none"), ("research",), "extra", 2),
    (Synthesis("strategic", BUILD, MANY, "none"), ("research", "implementation"), "project", 10),
    (Synthesis("research", "Software exists", MANY), ("research", "implementation"), "global", 7),
]
"""A synthesis, categories and scope of a candidate, and the relevance as computed by hand."""


@pytest.mark.parametrize(("synthesis", "categories", "scope", "expected"), RELEVANCE_CASES)
def test_relevance_is_what_the_document_says(
    synthesis: Synthesis, categories: tuple[str, ...], scope: str, expected: int
) -> None:
    one = candidate(categories=categories, scope=Scope(scope))

    assert points(score_relevance(synthesis, one)) == expected


RESEARCH, BOTH = Query(("research",)), Query(("research", "analysis"))
QUERY_CASES: list[tuple[Query, dict[str, Any], int]] = [
    (RESEARCH, {}, 40),
    (RESEARCH, {"schema_version": "3.0"}, 60),
    (BOTH, {}, 20),
    (RESEARCH, {"autonomous": False}, 50),
    (replace(RESEARCH, supervised=False), {"autonomous": True}, 50),
    (replace(RESEARCH, history=("a-skill",)), {}, 50),
    (replace(RESEARCH, chain=("a-skill",)), {}, 10),
    (Query(inputs=("spec",)), {"input_requirements": ("spec",)}, 20),
    (Query(inputs=("spec", "code")), {"input_requirements": ("spec",)}, 10),
    (Query(schema_version="2.0"), {"schema_version": "3.0"}, 20),
    (Query(schema_version="3.0"), {"schema_version": "2.0", "schema_type": "universal"}, 10),
    (Query(chain=("a-skill",)), {}, -30),
    (
        Query(("research",), "", "", ("spec",), True, ("a-skill",)),
        {"schema_version": "3.0", "input_requirements": ("spec",), "autonomous": False},
        100,
    ),
    (
        Query(("research",), "", "", ("spec",), True, ("a-skill",), ("a-skill",)),
        {"schema_version": "3.0", "input_requirements": ("spec",), "autonomous": False},
        70,
    ),
]
"""A query, the fields of a candidate, and the score as computed by hand."""


@pytest.mark.parametrize(("query", "fields", "expected"), QUERY_CASES)
def test_a_query_scores_what_the_document_says(query: Query, fields: dict[str, Any], expected: int) -> None:
    fields = {"schema_version": "2.0", **fields}

    assert points(score_query(query, candidate("a-skill", **fields))) == expected


# --- order and queries ----------------------------------------------------------------------------


def test_a_shortlist_has_three_and_two_more_if_they_score() -> None:
    scoring = [rate(candidate(str(number)), Query(("research",))) for number in range(7)]
    ranked = [replace(offer, score=0) for offer in scoring]

    assert len(shortlist(ranked)) == 3
    assert len(shortlist(scoring)) == 5
    assert len(shortlist(scoring[:2])) == 2


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Query(), True),
        (Query(("x",)), False),
        (Query(source="stranger"), False),
        (Query(source="a-skill"), False),
        (Query(schema_version="v2"), True),
        (Query(schema_version="3.0"), False),
    ],
)
def test_a_query_is_answered_by_what_it_asks_for(query: Query, expected: bool) -> None:
    one = candidate(
        accepts_from=("friend", "a-skill"),
        input_requirements=("specification",),
        schema_version="2.0",
        description="Digs deeper",
        tags=("tagged",),
    )

    assert bool(rate(one, query).misses) is not expected
    assert len(rank([one], query)) == int(expected)


# --- versions of the schema -----------------------------------------------------------------------
