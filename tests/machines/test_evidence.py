"""Evidence and commands in a workflow: written the same way in YAML and Python, with a finding for each mistake."""

from __future__ import annotations

import json

import pytest
from support.sandbox import findings_of, flow, put_skill

from flowrail.machines import CommandFact, Evidence, Outcome, StepCommand, StepDef, Workflow, WorkflowError
from flowrail.machines.loading import skill_folder, workflow_source
from flowrail.machines.plain_form import from_plain, to_plain

COMPLETE = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    commands:
      tests: {run: [pytest, -q], reads: ["src/**"], timeout: 60, facts: {failures: {match: "(\\\\d+) failed", default: 0}}}
      book: {run: [tools/book, --, $session], once: attempt}
    reports: {failures: {type: integer, from: tests.failures}}
    evidence:
      ok:
        - {id: plan, file: docs/plan.md, changed: true, min_bytes: 400, contains: ["## Risks", "## Rollback"]}
        - {id: parts, files: "reports/*.md", at_least: 3}
        - {id: sources, file: report.md, citations: true, at_least: 3}
        - {id: tests, command: tests}
        - {id: review, review: submitted}
        - {id: signed, person: "the numbers are right"}
    next: {ok: null, fail: null}
"""

CHECKS = (
    Evidence("plan", file="docs/plan.md", changed=True, min_bytes=400, contains=("## Risks", "## Rollback")),
    Evidence("parts", files="reports/*.md", at_least=3),
    Evidence("sources", file="report.md", citations=True, at_least=3),
    Evidence("tests", command="tests"),
    Evidence("review", review="submitted"),
    Evidence("signed", person="the numbers are right"),
)
COMMANDS = {
    "tests": StepCommand(
        ("pytest", "-q"), reads=["src/**"], timeout=60, facts={"failures": CommandFact(r"(\d+) failed", 0)}
    ),
    "book": StepCommand(["tools/book", "--", "$session"], once="attempt"),
}


def step(*checks: Evidence, outcome: str = "ok") -> StepDef:
    return StepDef("build", "Build", ["Build it."], next={Outcome.OK: None}, evidence={outcome: checks})


def test_yaml_and_python_say_the_same() -> None:
    file = skill_folder.find_file(str(put_skill("built", COMPLETE)), "built")
    assert file is not None

    from_yaml = workflow_source.read(file).workflow().step("build")

    assert from_yaml.evidence == {"ok": CHECKS}
    assert from_yaml.commands == COMMANDS
    assert from_yaml.reports["failures"].source == "tests.failures"
    assert from_plain(to_plain(Workflow("built", from_yaml))).step("build") == from_yaml
    assert findings_of("built") == []


@pytest.mark.parametrize(
    ("check", "problem"),
    [
        ({"id": "Plan", "file": "a"}, "has an invalid id"),
        ({"id": "plan", "file": "a", "command": "b"}, "has `file`, `command`"),
        ({"id": "plan", "file": "../a"}, "has the path `../a`"),
        ({"id": "plan", "file": "$nosuch.md"}, "has `$nosuch`, which is not declared"),
        ({"id": "plan", "file": "out/${session}.md"}, "has `${session}`, which is not filled in"),
        ({"id": "plan", "file": "a", "at_least": 2}, "has `at_least`, which does not fit `file`"),
        (
            {"id": "plan", "review": "submitted", "changed": True},
            "has `changed`, which does not fit `review`",
        ),
        ({"id": "plan", "command": "tests"}, "names the unknown command `tests`"),
        ({"id": "plan", "person": " "}, "does not say what to confirm"),
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
        Workflow("wrong", step(Evidence(**check)))  # type: ignore[arg-type]

    assert from_yaml.status == 1
    assert "FR157" in from_yaml.out
    assert problem in from_yaml.out
    assert [finding.code for finding in raised.value.findings] == ["FR157"]
    assert problem in raised.value.findings[0].message


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (("run: [pytest, -q]", "run: [pytest -q]"), "runs `pytest -q` as one word"),
        (("run: [pytest, -q]", "run: []"), "has an empty word"),
        (("run: [pytest, -q]", "run: [$session]"), "name the program; only arguments can be placeholders"),
        (("$session]", "$nosuch]"), "has `$nosuch`, which is not declared"),
        (("(\\\\d+)", "("), "has an invalid regular expression"),
        (("(\\\\d+)", "(a)(b)"), "has a pattern with 2 groups"),
        (("(\\\\d+)", "\\\\d+"), "has a pattern without a group for the value"),
        (('["src/**"]', '["../src"]'), "has the path `../src`"),
        (("from: tests.failures", "from: tests.failure"), "comes from `tests.failure`, which no command has"),
        (("book: {", "Book: {"), "`commands.Book` of step `build` has an invalid name"),
    ],
)
def test_each_mistake_in_a_command_is_a_finding(changed: tuple[str, str], problem: str) -> None:
    put_skill("wrong", COMPLETE.replace(*changed))

    ran = flow("check", "wrong")

    assert ran.status == 1
    assert "FR159" in ran.out
    assert problem in ran.out
