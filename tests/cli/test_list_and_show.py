"""`flow list` and `flow show`: steps, agents, questions and the source of each skill."""

from __future__ import annotations

from support.sandbox import flow, home_skills, put_skill, told

ASKS = """\
name: NAME
steps:
  - id: ask
    title: Ask
    actions: [Ask.]
    questions:
      - {id: which, header: Which, text: Which one?, options: [{label: This}, {label: "That", outcome: ok}]}
    next: {ok: null}
"""


def test_work_for_agents_and_gates_are_shown() -> None:
    text = flow("show", "planner").out

    assert "context_discovery       explore           planner/explore            one" in text
    assert "qr_code_gate          Plan Code           qr_code          5      none / 1-4 / 5+" in text
    assert "ok → developer_fills_diffs, fail → approach_selection (decided by its gate)" in text
    assert "Other workflows\n  planner/executor\n" in text


def test_an_answer_without_an_outcome_stands_by_itself() -> None:
    put_skill("asks", ASKS)

    assert "This, That → ok" in flow("show", "asks").out


def test_a_list_says_how_many_gates_and_where_from() -> None:
    put_skill("mine")
    put_skill("mine", where=home_skills())
    flow("install", "planner")

    rows = {row.split()[0]: row for row in flow("list").out.splitlines()}

    assert "13 + 11 more  3      task" in rows["planner"]
    assert "project, as bundled" in rows["planner"]
    assert "project, hides another" in rows["mine"]
    assert {item["name"]: len(item["gates"]) for item in told("list")["skills"]}["planner"] == 3
