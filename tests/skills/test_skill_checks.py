"""SKILL.md compared with its workflow, unused texts, exceptions, and changes since a revision."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from flowrail.operations.skills.skill_check import check
from flowrail.skills.loader import Loader

CARD = """\
---
name: demo
description: Shows one thing. Use it to see how it is written.
---

Start: `flow step demo`
"""
LINE = """\
name: demo
steps:
  - {id: look, title: Look, actions: [Look around.], next: {ok: tell}}
  - {id: tell, title: Tell, actions: [Tell it.], next: {ok: null}}
"""
WORK = """\
name: demo
steps:
  - id: look
    title: Look
    actions: [Look around.]
    reports: {areas: {type: list, required: true, example: [auth]}}
    next: {ok: work}
  - id: work
    title: Work
    actions: [Hand it out.]
    dispatch:
      agent: explore
      workflow: demo/area
      over: areas
      vars: {area: $item}
      join: all
    next: {ok: null, fail: null}
"""
AREA = """\
name: demo/area
params: {area: {type: string, required: true, example: auth}}
steps:
  - {id: look, title: Look, actions: ["Look at $area."], next: {ok: null}}
"""


def write(folder: Path, files: Mapping[str, str]) -> Path:
    """Write a skill's files and return its folder."""
    for path, text in files.items():
        full = folder / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text, encoding="utf-8")
    return folder


def findings_in(folder: Path, files: Mapping[str, str]) -> list[str]:
    (first, *_) = check([str(write(folder / "demo", files))], Loader(), str(folder))
    return [f"{finding.code} {finding.place} {finding.message}" for finding in first.findings]


def with_card(text: str) -> dict[str, str]:
    return {"workflow.yaml": LINE, "SKILL.md": CARD.replace("Start: `flow step demo`\n", text)}


@pytest.mark.parametrize(
    "text",
    [
        "Start: `flow step demo`",
        "```\n$ flow step demo --new -p mode=quick\n```",
        "`flow step demo` and `flow step elsewhere -p x=y`",
    ],
)
def test_a_card_whose_commands_work_is_in_order(text: str, tmp_path: Path) -> None:
    assert findings_in(tmp_path, with_card(text)) == []


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("Just start it: flow step demo", "never shows `flow step demo`"),
        ("`flow step demo`, `flow step demo/area`", "unknown workflow `demo/area`"),
        ("`flow step dem`", "never shows `flow step demo`"),
    ],
)
def test_a_card_whose_commands_do_not_work_is_found(text: str, what: str, tmp_path: Path) -> None:
    (finding,) = findings_in(tmp_path, with_card(text))

    assert finding.startswith("FR169 SKILL.md:")
    assert what in finding


def test_a_card_that_cannot_be_read_is_found_and_none_is_in_order(tmp_path: Path) -> None:
    folder = write(tmp_path / "demo", {"workflow.yaml": LINE})
    assert findings_in(tmp_path, {}) == []
    (folder / "SKILL.md").mkdir()

    (finding,) = findings_in(tmp_path, {})

    assert finding.startswith("FR168 SKILL.md")
    assert "SKILL.md cannot be read: it is a directory" in finding


def test_texts_that_no_step_tells_are_found_whichever_workflow_they_would_be_of(tmp_path: Path) -> None:
    told = AREA.replace('actions: ["Look at $area."], ', "")
    files = {
        "workflow.yaml": WORK,
        "workflows/area.yaml": told,
        "SKILL.md": CARD,
        "steps/lok.md": "Left over.\n",
        "steps/notes.txt": "No text of a step.\n",
        "steps/area/look.md": "Look at $area.\n",
        "steps/area/old.md": "Left over.\n",
    }

    reports = check([str(write(tmp_path / "demo", files))], Loader(), str(tmp_path))

    assert [(finding.code, str(finding.place)) for report in reports for finding in report.findings] == [
        ("FR171", "steps/lok.md:1"),
        ("FR171", "steps/area/old.md:1"),
    ]


@pytest.mark.parametrize(
    ("path", "places"),
    [
        ("workflow.py", ["workflow.py:1"]),
        ("workflow.yml", ["workflow.yml:1"]),
        ("workflows/area.yml", ["workflows/area.yml:1"]),
        ("workflows/area.py", ["workflows/area.py:1"]),
        ("workflows/__init__.py", []),
        ("workflows/notes.md", []),
    ],
)
def test_workflows_that_nothing_reads_are_found(path: str, places: list[str], tmp_path: Path) -> None:
    assert [
        finding.split()[:2]
        for finding in findings_in(tmp_path, {"workflow.yaml": LINE, "SKILL.md": CARD, path: "x\n"})
    ] == [["FR174", place] for place in places]


SCRIPT = """\
from flowrail import StepDef, Workflow

WORKFLOW = Workflow("demo", StepDef("a", "A", ["Do it."], next={"ok": None}))
"""


def test_a_second_entry_workflow_of_a_skill_is_found_without_running_it(tmp_path: Path) -> None:
    found = findings_in(tmp_path, {"workflow.py": SCRIPT, "scripts/other.py": SCRIPT, "SKILL.md": CARD})

    assert [finding.split()[:2] for finding in found] == [["FR174", "scripts/other.py:1"]]
