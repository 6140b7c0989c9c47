"""Why a skill is offered or not."""

from pathlib import Path

import pytest
from support.skills import ACCEPTING, head, put

from flowrail.discovery.index import Discovery, discover
from flowrail.discovery.ranking.explain import explain
from flowrail.discovery.ranking.scores import Query, Synthesis


@pytest.fixture
def found(tree: Path) -> Discovery:
    (tree / "project/.git").mkdir(parents=True)
    put(tree / "project/.claude/skills", "both")
    put(tree / "home/.claude/skills", "both")
    put(tree / "home/.claude/skills", "closed", head("closed", "handoff: {accepts_handoff: false}"))
    put(tree / "home/.claude/skills", "one", head("shared", ACCEPTING))
    put(tree / "home/.claude/skills", "two", head("shared", ACCEPTING))
    return discover(str(tree / "project"), str(tree / "home"), {})


def test_each_place_is_named_with_what_was_seen_there(found: Discovery, tree: Path) -> None:
    told = explain(found, "both")

    assert [(each.root.origin, each.root.problem, each.paths) for each in told.places] == [
        ("cwd", "", (str(tree / "project/.claude/skills/both/SKILL.md"),)),
        ("cwd", "missing", ()),
        ("home", "", (str(tree / "home/.claude/skills/both/SKILL.md"),)),
        ("home", "missing", ()),
    ]


def test_an_offered_skill_is_told_with_whom_it_hides(found: Discovery, tree: Path) -> None:
    told = explain(found, "both")

    assert told.verdict == f"`both` is offered, from {tree / 'project/.claude/skills/both/SKILL.md'}"
    assert told.candidate
    assert [each.path for each in told.hidden] == [str(tree / "home/.claude/skills/both/SKILL.md")]
    assert [each.code for each in told.skipped] == ["SHADOWED"]
    assert {"HIDES_ELIGIBLE", "CLIENT_PREFERS_PERSONAL"} == {note.code for note in told.notes}
    assert told.score is None


def test_what_excluded_a_skill_is_the_verdict(found: Discovery) -> None:
    told = explain(found, "closed")

    assert (
        told.verdict
        == "`closed` is not offered: it declares in `handoff.accepts_handoff` that it accepts no handoffs"
    )
    assert told.candidate is None
    assert told.skipped[0].line == 4


def test_a_name_that_several_go_by_names_them_all(found: Discovery) -> None:
    told = explain(found, "shared")

    assert told.verdict.startswith("2 skills have the name `shared`: ")
    assert told.candidate
    assert told.candidate.skill == "one"


def test_the_score_is_told_part_by_part_where_something_was_asked(found: Discovery) -> None:
    relevance = explain(found, "both", asked=Synthesis("strategic")).score
    fit = explain(found, "both", asked=Query(("research",))).score

    assert relevance is not None
    assert relevance.parts[0].rule == "problem type"
    assert relevance == 4
    assert fit is not None
    assert fit.parts[0].rule == "category"
    assert explain(found, "closed", asked=Query()).score is None
