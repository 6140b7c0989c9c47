"""A skill's folder: its workflows, with their texts and digests; nothing outside of it, and nothing run."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from flowrail.machines.loading.python_file import NotLoadedError
from flowrail.machines.loading.skill_folder import (
    WorkflowFile,
    find_file,
    workflow_files,
)
from flowrail.machines.loading.workflow_source import LoadedWorkflow, read

YAML = """\
name: a-skill
steps:
  - {id: look, title: Look, next: {ok: last, iterate: look}, limit: 3}
  - {id: last, title: Last, next: {ok: null}}
"""
TEXTS = {"steps/look.md": "Look around.\n", "steps/last.md": "Say it.\n"}

PYTHON = """\
from flowrail import StepDef, Workflow

WORKFLOW = Workflow("a-skill", StepDef("look", title="Look", actions=["Look."], next={"ok": None}))
"""


def folder(root: Path, files: dict[str, str | bytes] | None = None, *, name: str = "a-skill") -> Path:
    """Write a skill of two steps, with *files* added or replaced."""
    skill = root / name
    for path, text in {"workflow.yaml": YAML, **TEXTS, **(files or {})}.items():
        file = skill / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
    return skill


def entry(skill: Path, name: str = "a-skill") -> WorkflowFile:
    file = find_file(str(skill), name)
    assert file is not None
    return file


def loaded(skill: Path) -> LoadedWorkflow:
    return read(entry(skill))


# --- the workflows of a folder


def test_named_workflows_are_beside_the_entry_workflow(tmp_path: Path) -> None:
    skill = folder(
        tmp_path, {"workflows/look.yaml": YAML, "workflows/ask.yaml": YAML, "workflows/notes.txt": ""}
    )

    files = [file for file in workflow_files(str(skill), "a-skill") if file.address != "a-skill"]

    assert [(file.address, file.path, file.text_folder) for file in files] == [
        ("a-skill/ask", "workflows/ask.yaml", "steps/ask"),
        ("a-skill/look", "workflows/look.yaml", "steps/look"),
    ]
    assert not [*workflow_files(str(tmp_path), "a-skill")]
    assert find_file(str(skill), "a-skill") == entry(skill)
    assert find_file(str(skill), "a-skill/look") == files[1]
    assert find_file(str(skill), "a-skill/none") is None


# --- reading


def test_a_snapshot_is_read_without_looking_at_the_disk_again(tmp_path: Path) -> None:
    skill = folder(tmp_path)
    contents = {"workflow.yaml": YAML.encode(), "steps/look.md": b"Snapshot."}

    result = read(entry(skill), contents)

    assert result.definition.steps[0].actions == ("Snapshot.",)
    assert [(finding.code, finding.step) for finding in result.findings] == [("FR125", "last")]
    assert "does not exist" in result.findings[0].message


# --- nothing outside


@pytest.mark.parametrize(
    "path",
    [
        "/etc/passwd",
        "../other.md",
        "steps/../../other.md",
        "steps//look.md",
        ".hidden.md",
        "a\\b.md",
        "steps/",
        "~/x",
    ],
)
def test_a_text_outside_the_folder_is_refused(tmp_path: Path, path: str) -> None:
    (tmp_path / "other.md").write_text("secret")
    text = YAML.replace("title: Look", f"title: Look, text: '{path}'")

    (finding,) = loaded(folder(tmp_path, {"workflow.yaml": text})).findings

    assert (finding.code, str(finding.place)) == ("FR125", "workflow.yaml:3")


def test_links_are_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "look.md").write_text("secret")
    file_link, folder_link = folder(tmp_path, name="one"), folder(tmp_path, name="other")
    (file_link / "steps/look.md").unlink()
    (file_link / "steps/look.md").symlink_to(outside / "look.md")
    for path in ("look.md", "last.md"):
        (folder_link / "steps" / path).unlink()
    (folder_link / "steps").rmdir()
    (folder_link / "steps").symlink_to(outside)

    findings = [
        [
            (finding.code, finding.step)
            for finding in read(WorkflowFile("a-skill", str(skill), "workflow.yaml", "steps")).findings
        ]
        for skill in (file_link, folder_link)
    ]

    assert findings == [[("FR125", "look")], [("FR125", "look"), ("FR125", "last")]]


# --- Python


def test_the_bytes_that_were_looked_at_are_run_and_not_those_on_the_disk(tmp_path: Path) -> None:
    skill = tmp_path / "a-skill"
    skill.mkdir()
    (skill / "workflow.py").write_text("raise SystemExit")
    contents = {"workflow.py": PYTHON.encode()}

    assert read(entry(skill), contents).definition.total_steps == 1
    with pytest.raises(NotLoadedError):
        read(entry(skill))


def test_a_resource_that_a_step_quotes_is_read_with_it(tmp_path: Path) -> None:
    quoting = "Look.\n\n```flow:resource\nformat\nnowhere\n../../other\n```\n"
    skill = folder(tmp_path, {"steps/look.md": quoting, "resources/format.md": "The format.\n"})

    result = loaded(skill)

    assert result.definition.resources == {"format": "The format."}
    assert "resources/format.md" in result.files
    assert [(finding.code, str(finding.place)) for finding in result.findings if finding.code == "FR127"] == [
        ("FR127", "steps/look.md:5"),
        ("FR127", "steps/look.md:6"),
    ]
