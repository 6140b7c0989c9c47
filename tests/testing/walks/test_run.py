"""`flow test` walks through workflows with the real engine, store and formatters."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.sandbox import ASKING, BUNDLED, SMALL, allow, flow, put_python, put_skill

RESULTS = "results"
FAN = """\
name: NAME
steps:
  - id: look
    title: Look
    actions: [Look.]
    reports: {areas: {type: list, required: true, example: [auth, data]}}
    next: {ok: work}
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch: {agent: explore, workflow: NAME/look, over: areas, join: any}
    next: {ok: judge, fail: null}
  - id: judge
    title: Judge
    actions: [Judge.]
    gate: {name: Look, review: work, limit: 2}
    next: {ok: tell, fail: work}
  - id: tell
    title: Tell
    actions: [Tell.]
    dispatch: {agent: explore, over: [a, b], prompt: steps/tell.agent.md}
    next: {ok: null, fail: null}
"""
FILES = {
    "workflows/look.yaml": SMALL.replace("NAME", "NAME/look"),
    "steps/tell.agent.md": "Tell $item.\n",
}


def results_of(*words: str) -> tuple[int, Any]:
    ran = flow("test", *words, "--json")
    return ran.status, ran.data


def test_skills_without_errors_pass_with_every_transition_taken() -> None:
    put_skill("asking", ASKING)
    put_skill("fan", FAN, texts=FILES)

    status, data = results_of("asking", "fan")

    assert status == 0
    assert [result["workflow"] for result in data[RESULTS]] == ["asking", "fan", "fan/look"]
    for result in data[RESULTS]:
        assert result["status"] == "passed"
        assert result["transitions"] > 0
        assert result["failures"] == result["missing"] == []
    assert not (Path.cwd() / ".flow").exists()


RAISES = 'if ctx.visit > 2:\n    raise LookupError("lost")\nreturn Outcome.FAIL'


def test_the_shortest_walk_that_goes_wrong_is_shown_with_its_commands() -> None:
    folder = put_python("py", RAISES)
    text = (folder / "workflow.py").read_text().replace("Outcome.FAIL: None", 'Outcome.FAIL: "first"')
    (folder / "workflow.py").write_text(text)
    allow("py")

    ran = flow("test", "py")
    _, data = results_of("py")

    assert ran.status == 1
    assert "LookupError: lost" in ran.out
    (result,) = data[RESULTS]
    shortest = result["failures"][0]
    assert shortest["step"] == "first"
    assert len(shortest["commands"]) == min(len(failure["commands"]) for failure in result["failures"]) == 5
    assert shortest["commands"][0].startswith("flow test .claude/skills/py/workflow.py --walk ")
    assert [line.split()[1] for line in shortest["commands"][1:]] == ["step"] * 4
    assert (
        f"  To repeat it: {shortest['commands'][0]}\n  Its commands, with the ids of that run:\n" in ran.out
    )
    assert ran.out.count("\n    flow ") == 4
    assert result["missing"] == [{"step": step, "outcome": "ok"} for step in ("first", "second")]
    assert "no walk takes `ok` of `first`, takes `ok` of `second`" in ran.out


def test_a_test_of_python_that_is_not_approved_exits_7_and_runs_nothing() -> None:
    canary = Path.cwd() / "canary"
    put_python("py", before=f"open({str(canary)!r}, 'w').close()\n")

    ran = flow("test", "py")
    status, data = results_of("py")

    assert status == 7
    assert data[RESULTS][0]["status"] == "not approved"
    assert "flow trust py" in data[RESULTS][0]["reason"]
    assert "flow trust py" in ran.out
    assert not canary.exists()


SHORT = frozenset({"decision-critic", "problem-analysis", "refactor"})
"""Walked in every run. `tests/bundled/test_printed_size.py` plays the walks of the others that cover their transitions."""


@pytest.mark.parametrize(
    "skill", [pytest.param(name, marks=[] if name in SHORT else pytest.mark.long) for name in BUNDLED]
)
def test_every_bundled_skill_passes_with_every_transition_taken(skill: str) -> None:
    status, data = results_of(skill)

    assert status == 0, [result["failures"][:1] for result in data[RESULTS] if result["failures"]]
    assert not [result["workflow"] for result in data[RESULTS] if result["missing"]]


CONTRARY = """\
name: NAME
params: {dry: {type: boolean, default: true}}
steps:
  - {id: move, title: Move, actions: [Move.], next: {ok: check}}
  - {id: check, title: Check, actions: [Check.], when: "not dry", next: {ok: tell, fail: back}}
  - {id: back, title: Back, actions: [Go back.], when: "dry", next: {ok: tell}}
  - {id: tell, title: Tell, actions: [Tell.], next: {ok: null}}
"""


def test_a_step_that_no_walk_enters_is_named_and_fails_strictly() -> None:
    put_skill("contrary", CONTRARY)

    _, data = results_of("contrary")
    ran = flow("test", "contrary", "--strict")

    assert data[RESULTS][0]["never_entered"] == ["back"]
    assert data[RESULTS][0]["missing"] == []
    assert "no walk enters `back`" in ran.out
    assert (flow("test", "contrary").status, ran.status) == (0, 1)
