"""Evidence that proves little: what `flow check` warns of, and what `flow test` shows to pass in an empty project."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from support.evidence import allow_commands, begin, demand, report, write
from support.sandbox import flow, put_skill, told

CANNOT_FAIL: dict[str, dict[str, Any]] = {
    "a bare file": {"file": "plan.md"},
    "a bare pattern": {"files": "plans/**/*.md"},
    "true": {"run": ["true"]},
    "echo": {"run": ["/bin/echo", "3 passed"], "output": ["passed"]},
    "a shell": {"run": ["bash", "-c", "pytest -q; true"]},
    "a claim": {"run": ["pytest"], "level": "claimed"},
    "any document": {"json": "out.json", "schema": "schemas/any.json"},
    "no change": {"git": {"changed_at_least": 0}},
    "a version": {"run": [sys.executable, "--version"]},
    "a bad example": {"file": "plan.md", "contains": ["## Risks"], "min_bytes": 5, "known_bad": ["bad"]},
}
"""Checks that pass without the work."""
WEAK: dict[str, dict[str, Any]] = {
    **{name: check for name, check in CANNOT_FAIL.items() if name not in {"a version", "a bad example"}},
    "a wrapped shell": {"run": ["env", "X=1", "sh", "-ec", "pytest"]},
    "any output": {"run": ["pytest"], "output": ["(passed)?"]},
    "a file of the template": {"file": "plan.md", "contains": ["## Risks"], "min_bytes": 5},
}
"""Checks that look weak."""
SOUND: list[dict[str, Any]] = [
    {"id": "plan", "file": "plan.md", "contains": ["## Risks"], "min_bytes": 400},
    {"id": "notes", "file": "notes.md", "changed": True},
    {"id": "parts", "files": "reports/*.md", "at_least": 3},
    {"id": "diffs", "file": "plan.md", "diffs": True},
    {"id": "scope", "git": {"changed_at_least": 1}},
    {"id": "tests", "run": ["pytest", "-q"], "output": ["\\d+ passed"]},
]
STEP = """\
name: NAME
steps:
  - id: build
    title: Build
    evidence: {ok: CHECKS}
    next: {ok: null}
"""
TEXT = "Write a plan:\n\n```markdown\n# Plan\n\n## Risks\n```\n"


def put(*checks: dict[str, Any], name: str = "built", **texts: str) -> None:
    numbered = [{"id": f"check{number}", **check} for number, check in enumerate(checks, 1)]
    files = {"steps/build.md": TEXT, "schemas/any.json": '{"type": "object"}', **texts}
    put_skill(name, STEP.replace("CHECKS", json.dumps(numbered)), texts=files)


@pytest.mark.parametrize("name", WEAK)
def test_a_check_warns_of_evidence_that_looks_weak(name: str) -> None:
    put(WEAK[name])

    assert [finding["code"] for finding in told("check", "built")["findings"]] == ["FR184"]


@pytest.mark.parametrize("name", CANNOT_FAIL)
def test_a_test_finds_evidence_that_cannot_fail(name: str) -> None:
    check = CANNOT_FAIL[name]
    put(check, **{"bad/plan.md": "## Risks\nTODO\n"})
    if "run" in check and "level" not in check:
        allow_commands()

    tested = flow("test", "built", "--json")

    trials = tested.data["results"][0]["weak_evidence"]
    assert [trial["check"] for trial in trials] == ["check1"]
    assert tested.status == 1


def test_sound_evidence_is_found_sound() -> None:
    put(*SOUND)
    allow_commands()

    assert told("check", "built")["findings"] == []
    ran = flow("test", "built")
    assert ran.status == 0, ran
    assert "cannot fail" not in ran.out


def test_a_command_that_is_not_approved_is_not_tried() -> None:
    ran_anyway = Path.cwd() / "ran"
    put({"run": [sys.executable, "-c", f"open({str(ran_anyway)!r}, 'w')"]})

    ran = flow("test", "built")

    assert (ran.status, ran_anyway.exists()) == (0, False)
    assert (
        "the commands of `check1` were not tried; approve them: flow skill trust built --commands" in ran.out
    )


def test_a_known_bad_project_must_not_pass() -> None:
    bad = {"bad/plan.md": "## Risks\nTODO\n"}
    check = {"file": "plan.md", "changed": True, "contains": ["## Risks"], "known_bad": ["bad"]}
    put(check, name="loose", **bad)
    put({**check, "min_bytes": 100}, name="strict", **bad)
    put({**check, "known_bad": ["nosuch"]}, name="missing")

    loose = flow("test", "loose")

    assert loose.status == 1
    assert "it passes in `bad`, which is known to be bad" in loose.out
    assert flow("test", "strict").status == 0
    assert flow("test", "missing").status == 1


DECIDING = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    limit: 2
    evidence: {ok: [{id: plan, file: plan.md, changed: true}]}
    rules: [{if: "evidence.plan.passed", outcome: ok}, {outcome: iterate}]
    next: {ok: tell, iterate: build}
  - {id: tell, title: Tell, actions: [Tell it.], next: {ok: null}}
"""


def test_walks_take_transitions_that_lacking_evidence_decides() -> None:
    put_skill("built", DECIDING)

    result = told("test", "built")["results"][0]

    assert (result["status"], result["missing"]) == ("passed", [])


def test_a_review_may_say_that_it_found_nothing() -> None:
    demand({"id": "review", "records": {"review": "submitted"}})
    session = begin()
    assert report(session) == {"review": "fail"}

    assert flow("finding", "none", session).out == f"recorded in {session}: no findings\n"

    assert report(session) == {}
    told("step", "built", "iterate", "--session", session)
    assert report(session) == {"review": "fail"}
    write("unused", "")
