"""Evidence that proves little: what `flow check` warns of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.evidence import begin, demand, report, write
from support.sandbox import flow, put_skill, told

WEAK: dict[str, dict[str, Any]] = {
    "a bare file": {"file": "plan.md"},
    "a bare pattern": {"files": "plans/**/*.md"},
    "true": {"run": ["true"]},
    "echo": {"run": ["/bin/echo", "3 passed"], "output": ["passed"]},
    "a shell": {"run": ["bash", "-c", "pytest -q; true"]},
    "a claim": {"run": ["pytest"], "level": "claimed"},
    "any document": {"json": "out.json", "schema": "schemas/any.json"},
    "no change": {"git": {"changed_at_least": 0}},
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


def test_sound_evidence_is_found_sound() -> None:
    put(*SOUND)

    assert told("check", "built")["findings"] == []


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
