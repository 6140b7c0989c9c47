"""Evidence in a workflow: written the same way in YAML and Python, with a finding for each mistake."""

from __future__ import annotations

import json

import pytest
from support.sandbox import flow, put_skill, told

from flowrail import EvidenceCheck, GitCondition, Outcome, StepDef, Workflow, WorkflowError
from flowrail.machines.definition.workflow import from_plain, step_fingerprint, to_plain
from flowrail.machines.loading import skill_folder, workflow_source

COMPLETE = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    evidence:
      ok:
        - {id: plan, file: docs/plan.md, changed: true, min_bytes: 400, contains: ["## Risks", "## Rollback"]}
        - {id: parts, files: "reports/*.md", at_least: 3}
        - {id: verdict, json: out/verdict.json, schema: schemas/verdict.json}
        - {id: scope, git: {changed_at_least: 1, within: ["src/**", "tests/**"]}}
        - {id: review, records: {review: submitted}}
        - {id: tests, run: [pytest, -q], reads: ["src/**"], timeout: 60, output: ["\\\\d+ passed"], level: checked}
    next: {ok: null, fail: null}
"""
SCHEMA = '{"type": "object", "required": ["passed"]}\n'

CHECKS = (
    EvidenceCheck(
        "plan", file="docs/plan.md", changed=True, min_bytes=400, contains=("## Risks", "## Rollback")
    ),
    EvidenceCheck("parts", files="reports/*.md", at_least=3),
    EvidenceCheck("verdict", json="out/verdict.json", schema=SCHEMA.strip()),
    EvidenceCheck("scope", git=GitCondition(1, ("src/**", "tests/**"))),
    EvidenceCheck("review", records={"review": "submitted"}),
    EvidenceCheck(
        "tests", run=("pytest", "-q"), reads="src/**", timeout=60, output=r"\d+ passed", level="checked"
    ),
)


def step(*checks: EvidenceCheck, outcome: str = "ok") -> StepDef:
    return StepDef("build", "Build", ["Build it."], next={Outcome.OK: None}, evidence={outcome: checks})


def test_yaml_and_python_say_the_same() -> None:
    folder = put_skill("built", COMPLETE, texts={"schemas/verdict.json": SCHEMA})
    file = skill_folder.entry_file(str(folder), "built")
    assert file is not None

    from_yaml = workflow_source.read(file).workflow().step("build")

    assert from_yaml.evidence == {"ok": CHECKS}
    assert from_plain(to_plain(Workflow("built", from_yaml))).step("build") == from_yaml
    assert from_yaml.checks["tests"].lowest_level == "checked"
    assert from_yaml.checks["plan"].lowest_level == "checked"


def test_other_evidence_is_another_step_and_known_bad_projects_are_not() -> None:
    def fingerprint(*checks: EvidenceCheck) -> str:
        return step_fingerprint(Workflow("built", step(*checks)), "build")

    plan = EvidenceCheck("plan", file="plan.md")

    assert fingerprint(plan) != fingerprint(EvidenceCheck("plan", file="plan.md", min_bytes=9))
    assert fingerprint(plan) == fingerprint(EvidenceCheck("plan", file="plan.md", known_bad="bad"))


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ({"id": "Plan", "file": "a"}, "has an invalid id"),
        ({"id": "plan"}, "looks at nothing"),
        ({"id": "plan", "file": "a", "run": ["b"]}, "has `file`, `run`"),
        ({"id": "plan", "file": "../a"}, "has the path `../a`"),
        ({"id": "plan", "file": "/etc/passwd"}, "has the path `/etc/passwd`"),
        ({"id": "plan", "file": "$nosuch.md"}, "has `$nosuch`, which is not declared"),
        ({"id": "plan", "file": "a", "at_least": 2}, "has `at_least`, which does not fit `file`"),
        ({"id": "plan", "file": "a", "level": "observed"}, "has the level `observed`, but `file` is always"),
        ({"id": "plan", "file": "a", "level": "sure"}, "`evidence.ok.1.level` of step `build` is `sure`"),
        ({"id": "plan", "file": "a", "since": "now"}, "`evidence.ok.1.since` of step `build` is `now`"),
        ({"id": "plan", "file": "a", "contains": [" "]}, "looks for an empty text"),
        ({"id": "plan", "json": "a.json"}, "has no `schema`"),
        ({"id": "plan", "run": ["pytest -q"]}, "runs `pytest -q` as one word"),
        ({"id": "plan", "run": ["a"], "output": ["("]}, "has an invalid regular expression"),
        ({"id": "plan", "records": {"review": "done"}}, "asks for the unknown record `review: done`"),
    ],
)
def test_each_mistake_is_a_finding_in_yaml_and_in_python(check: dict[str, object], problem: str) -> None:
    text = f"""\
name: NAME
steps:
  - {{id: build, title: Build, actions: [Build it.], evidence: {{ok: [{json.dumps(check)}]}}, next: {{ok: null}}}}
"""
    put_skill("wrong", text)

    from_yaml = flow("check", "wrong")
    with pytest.raises(WorkflowError) as raised:
        Workflow("wrong", step(EvidenceCheck(**check)))  # type: ignore[arg-type]

    assert from_yaml.status == 1
    assert "FR157" in from_yaml.out
    assert problem in from_yaml.out
    assert [finding.code for finding in raised.value.findings] == ["FR157"]
    assert problem in raised.value.findings[0].message


def test_a_schema_file_that_is_missing_or_is_not_json_is_a_finding() -> None:
    put_skill("missing", COMPLETE)
    put_skill("broken", COMPLETE, texts={"schemas/verdict.json": "{"})

    assert "cannot be read: `schemas/verdict.json` does not exist" in flow("check", "missing").out
    assert "has a schema that is not JSON" in flow("check", "broken").out


def test_evidence_for_an_outcome_without_a_transition_is_a_finding() -> None:
    with pytest.raises(WorkflowError) as raised:
        Workflow("wrong", step(EvidenceCheck("plan", file="a"), outcome="skip"))

    assert "demands evidence for `skip`, which it does not accept" in raised.value.findings[0].message


def test_rules_may_use_results_of_evidence_of_their_own_step() -> None:
    text = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    limit: 3
    evidence: {ok: [{id: tests, run: [pytest]}]}
    rules: [{if: "evidence.tests.passed", outcome: ok}, {if: "evidence.tests.verdict == 'stale'", outcome: iterate},
            {outcome: fail}]
    next: {ok: null, fail: null, iterate: build}
"""
    put_skill("right", text)
    put_skill("wrong", text.replace("evidence.tests.passed", "evidence.test.passed"))
    put_skill("odd", text.replace("evidence.tests.passed", "evidence.tests.colour"))

    assert told("check", "right")["findings"] == []
    assert "uses unknown evidence `test`" in flow("check", "wrong").out
    assert "did you mean `tests`?" in flow("check", "wrong").out
    assert "FR119" in flow("check", "odd").out
