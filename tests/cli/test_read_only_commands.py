"""Commands that read skills without running their code: list, show, check, preview, diagram, schema."""

from __future__ import annotations

import re

import pytest
from support.sandbox import (
    ASKING,
    BUNDLED,
    SMALL,
    flow,
    home_skills,
    put_skill,
    refused,
    told,
)


@pytest.fixture(autouse=True)
def skills() -> None:
    put_skill("small", texts={"workflows/look.yaml": SMALL.replace("NAME", "NAME/look")})
    put_skill("asking", ASKING)


def test_skills_are_listed_with_what_they_are_for() -> None:
    put_skill("wrong", SMALL.replace("ok: second", "ok: nowhere"))

    rows = {row.split()[0]: row for row in flow("list").out.splitlines()}

    assert list(rows) == ["skill", *sorted([*BUNDLED, "asking", "small", "wrong"])]
    assert re.fullmatch(r"small +2 \+ 1 more +project +A small procedure", rows["small"])
    assert "topic, size" in rows["asking"]
    assert "1 error: flow check wrong" in rows["wrong"]
    put_skill("wrong", "name: [\n")
    assert " 1 error: flow check wrong" in flow("list").out
    assert max(map(len, rows.values())) < 200
    assert [item["name"] for item in told("list")["skills"]] == list(rows)[1:]


def test_a_workflow_is_shown_as_a_table() -> None:
    text = flow("show", "asking").out

    assert text.startswith("asking · 2 steps · project\n")
    assert "topic  string   default nothing" in text
    assert (
        "ok → tell, iterate → look (decided by its rules; at most 3 attempts; reports sure, where, note)"
        in text
    )
    assert "tell  Tell" in text
    assert told("show", "asking")["name"] == "asking"
    assert "Other workflows\n  small/look" in flow("show", "small").out


def test_a_check_of_nothing_is_refused() -> None:
    assert refused("check", "nosuch")[1]["code"] == "UNKNOWN_SKILL"
    assert refused("check", ".git")[1]["code"] == "USAGE"


def test_work_for_agents_and_gates_are_shown() -> None:
    text = flow("show", "planner").out

    assert "context_discovery       explore           planner/explore            one" in text
    assert "qr_code_gate          Plan Code           qr_code          5      $policy" in text
    assert "ok → developer_fills_diffs, fail → approach_selection (decided by its gate)" in text
    assert "Other workflows\n  planner/executor\n" in text
    assert "Other workflows\n  planner\n" in flow("show", "planner/executor").out
    assert "  planner/executor\n" not in flow("show", "planner/executor").out


def test_a_list_says_how_many_gates_and_where_from() -> None:
    put_skill("mine")
    put_skill("mine", where=home_skills())
    flow("setup", "planner")

    rows = {row.split()[0]: row for row in flow("list").out.splitlines()}

    assert "13 + 11 more  3      task" in rows["planner"]
    assert "project, as bundled" in rows["planner"]
    assert "project, hides another" in rows["mine"]
    assert {item["name"]: len(item["gates"]) for item in told("list")["skills"]}["planner"] == 3
