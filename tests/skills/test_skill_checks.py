"""What `flow check` finds around a workflow: in SKILL.md, in what it names, in its texts, and beside it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.sandbox import home_skills

from flowrail.operations.environment import Environment
from flowrail.operations.skills.skill_check import check

CARD = """\
---
name: lead
description: Shows one thing. Use it to see how it is written.
---

Start: `flow step lead`
"""
LEAD = """\
name: lead
params: {areas: {type: list, default: [a]}}
steps:
  - id: look
    title: Look
    dispatch: {agent: explore, workflow: lead/look, over: areas, vars: {area: $item}}
    next: {ok: null}
"""
INNER = """\
name: lead/look
params:
  area: {type: string, required: true, example: auth}
  mode: {type: string, choices: [quick, full], default: full}
steps:
  - {id: only, title: Only, actions: ["Look at $area."], next: {ok: null}}
"""
SKILL = {"workflow.yaml": LEAD, "workflows/look.yaml": INNER, "SKILL.md": CARD, "steps/look.md": "Look.\n"}


def found(changes: Mapping[str, str | None]) -> list[str]:
    """Return the findings about a correct skill after some of its files changed, or were deleted."""
    folder = home_skills() / "lead"
    for path, text in {**SKILL, **changes}.items():
        if text is not None:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
    reports = check([str(folder)], Environment().loader, os.getcwd())
    return [f"{each.code} {each.place} {each.message}" for report in reports for each in report.findings]


def with_header(*lines: str, description: str = "description: x") -> dict[str, str]:
    """Return a SKILL.md with these lines in its header."""
    return {
        "SKILL.md": "\n".join(["---", "name: lead", description, *lines, "---", "", "`flow step lead`", ""])
    }


def in_lead(old: str, new: str) -> dict[str, str]:
    assert old in LEAD
    return {"workflow.yaml": LEAD.replace(old, new)}


ACCEPTS = "handoff: {accepts_from: [x], schema_version: '3.0'}"
IN_ORDER: dict[str, Mapping[str, str | None]] = {
    "as it is": {},
    "no SKILL.md outside of a host's folder": {"SKILL.md": CARD.replace("Start", "Begin")},
    "a command on a line of its own": {
        "SKILL.md": CARD.replace("`flow step lead`", "\n```\n$ flow step lead --new -p mode=quick\n```")
    },
    "a command of another skill": {"SKILL.md": f"{CARD}Then: `flow step elsewhere -p x=y`\n"},
    "a value with a placeholder": in_lead("$item", "'about $item', mode: quick"),
    "files that are no workflows": {
        "workflows/__init__.py": "x",
        "workflows/notes.md": "x",
        "steps/n.txt": "x",
    },
    "handoff metadata": with_header(ACCEPTS, "categories: [a]", "output_types: [b]", "version: 1"),
    "no handoffs": with_header("handoff: {accepts_handoff: false}"),
}


@pytest.mark.parametrize("case", IN_ORDER)
def test_a_correct_skill_has_no_findings(case: str) -> None:
    assert found(IN_ORDER[case]) == []


WRONG = "Look.\n\n```flow:forbiden\n- Guessing\n```\n"
FINDINGS: list[tuple[Mapping[str, str | None], str]] = [
    # the header of SKILL.md, by the open skill specification
    ({"SKILL.md": CARD.replace("lead\n", "PDF\n", 1)}, "FR168 SKILL.md:2 `name` must match ^[a-z0-9]+"),
    ({"SKILL.md": CARD.replace("lead\n", "other\n", 1)}, "FR168 SKILL.md:2 the name is `other`, and the folder is"),
    ({"SKILL.md": "Start: `flow step lead`\n"}, "FR168 SKILL.md:1 the file does not begin with `---`"),
    (with_header(description="license: MIT"), "FR168 SKILL.md:1 `description` is missing"),
    (with_header(description="description: ''"), "FR168 SKILL.md:3 `description` is empty"),
    (with_header(description="description: 'TODO: say it'"), "FR168 SKILL.md:3 the description is not written yet"),
    (with_header(description="description: see: here"), "FR168 SKILL.md:3 `description` has an unquoted `: `"),
    (with_header(f"compatibility: {'a' * 501}"), "FR168 SKILL.md:4 `compatibility` is longer than 500 characters"),
    (with_header("metadata: {a: {b: c}}"), "FR168 SKILL.md:4 `metadata.a` must be text"),
    (with_header("model: fast"), "FR168 SKILL.md:4 `model` is not a known key"),
    # its handoff metadata
    (
        with_header("handoff: {accepts_from: [x]}", "categories: [a]"),
        "FR183 SKILL.md:4 no `schema_version`; 3.0 is assumed",
    ),
    (
        with_header("handoff: {accepts_handoff: true, handoff_categories: [a]}"),
        "FR183 SKILL.md:4 the menu shows the skill's `description`",
    ),
    (
        with_header(ACCEPTS.replace("}", ", handoff_trigger: go}"), "categories: [a]"),
        "FR183 SKILL.md:4 the trigger `go` does not contain `{payload_path}`",
    ),
    (
        with_header(ACCEPTS.replace("}", ", accept: y}"), "categories: [a]"),
        "FR183 SKILL.md:4 `handoff.accept` is not a key of handoff metadata",
    ),
    (with_header("handoff: {accepts_handoff: maybe}"), "FR183 SKILL.md:4 `handoff.accepts_handoff` must be true or"),
    (with_header(ACCEPTS.replace("3.0", "1.2"), "categories: [a]"), "FR183 SKILL.md:4 it reads payload version 1.2"),
    # its commands
    ({"SKILL.md": CARD.replace("`", "")}, "FR169 SKILL.md:1 SKILL.md never shows `flow step lead`"),
    ({"SKILL.md": CARD.replace("step lead", "step led")}, "FR169 SKILL.md:6 SKILL.md never shows `flow step lead`"),
    ({"SKILL.md": f"{CARD}`flow step lead/lok`\n"}, "FR169 SKILL.md:7 unknown workflow `lead/lok`"),
    ({"SKILL.md": None}, "FR182 workflow.yaml:1 SKILL.md is missing"),
    # the workflows that it names
    (in_lead("workflow: lead/look", "workflow: lead/lok"), "FR143 workflow.yaml:6 step `look` runs `lead/lok` in agents"),
    (in_lead("area: $item", ""), "FR155 workflow.yaml:6 `lead/look` requires `area`, which step `look` does not set"),
    (in_lead("$item", "$item, dep: true"), "FR155 workflow.yaml:6 step `look` runs `lead/look` in agents, which takes no"),
    (in_lead("$item", "5"), "FR155 workflow.yaml:6 step `look` runs `lead/look` in agents, which takes another `area`"),
    (in_lead("steps:", "then: lead/no\nsteps:"), "FR151 workflow.yaml:3 `lead` continues with `lead/no`, which does not"),
    (in_lead("steps:", "then: lead/look\nsteps:"), "FR151 workflow.yaml:3 `lead` continues with `lead/look`, which requires"),
    # its texts, and files that nothing reads
    ({"steps/look.md": WRONG}, "FR152 steps/look.md:3 step `look` prints its fence `flow:forbiden` as text: unknown block"),
    ({"steps/look.md": f"\n\n{WRONG}"}, "FR152 steps/look.md:5 step `look` prints its fence"),
    ({"steps/look.md": "```flow:forbidden\n- a\n"}, "FR152 steps/look.md:1 step `look` prints its fence `flow:forbidden`"),
    ({"workflow.yml": "x"}, "FR174 workflow.yml:1 nothing reads `workflow.yml`"),
    ({"workflow.py": "x"}, "FR174 workflow.py:1 nothing reads `workflow.py`"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "finding"), FINDINGS, ids=[finding[:60] for _, finding in FINDINGS])
def test_what_is_wrong_is_found_with_its_line(changes: Mapping[str, str | None], finding: str) -> None:
    findings = found(changes)

    assert [each for each in findings if each.startswith(finding)], findings
    assert len(findings) <= 2


SCRIPT = """\
from flowrail import Dispatch, Outcome, StepDef, Workflow
WORKFLOW = Workflow(
    "lead",
    StepDef("look", "Look", ["Look."], next={Outcome.OK: None, Outcome.FAIL: None},
            handler=Dispatch("explore", "lead/look", vars={"area": "x"}, total_steps=2)),
)
"""


def test_the_number_of_steps_that_a_dispatch_names_is_checked() -> None:
    changes = {"workflow.yaml": None, "steps/look.md": None, "workflow.py": SCRIPT}

    (only,) = found(changes)

    assert "step `look` says that `lead/look` has 2 steps, not 1" in only


def test_a_second_entry_workflow_of_a_skill_is_found_without_running_it() -> None:
    (only,) = found({"workflow.yaml": None, "workflow.py": SCRIPT.replace("=2", "=1"), "steps/look.md": None,
                     "scripts/other.py": SCRIPT.replace("WORKFLOW", "open('ran', 'w')\nWORKFLOW")})  # fmt: skip

    assert only.startswith("FR174 scripts/other.py:1")
    assert not Path("ran").exists()
