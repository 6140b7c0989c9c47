"""`flow check --against REV` shows how workflows differ from an earlier revision."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
from support.sandbox import flow, refused
from support.skills import git, repository

from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import workflow_source
from flowrail.machines.loading.skill_folder import entry_file
from flowrail.operations.skills.against import WorkflowChange, changes_since, differences
from flowrail.skills.catalog import listing, workflows

DEMO = """\
name: demo
params: {mode: {type: string, default: full}}
steps:
  - {id: look, title: Look, text: steps/x.md, next: {ok: dig}}
  - {id: dig, title: Dig, actions: [Dig.], next: {ok: tell}}
  - {id: tell, title: Tell, actions: [Tell it.], next: {ok: null}}
"""


@pytest.fixture
def demo(tmp_path: Path) -> Path:
    folder = repository(tmp_path) / "skills" / "demo"
    (folder / "steps").mkdir(parents=True)
    (folder / "steps" / "x.md").write_text("Look around.\n")
    (folder / "workflow.yaml").write_text(DEMO)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "before")
    return folder


def changes(folder: Path) -> list[WorkflowChange]:
    file = entry_file(str(folder), "demo")
    assert file is not None
    return list(changes_since("HEAD", [file], os.environ))


@pytest.mark.parametrize(
    ("old", "new", "change"),
    [
        ("{ok: tell}", "{ok: look}", ("dig", "`ok` led to `tell`, leads to `look`", True)),
        ("{ok: null}", "{ok: null, fail: look}", ("tell", "`fail` is new, to `look`", True)),
        ("title: Tell", "title: Say", ("tell", "its text changed", False)),
        ("id: dig,", "id: dig, limit: 3,", ("dig", "`limit` was nothing, is `3`", True)),
        ("default: full", "default: quick", (None, "parameter `mode` is declared differently", False)),
        ("steps:", "entry: dig\nsteps:", (None, "it starts at `dig`, before at `look`", False)),
    ],
)
def test_a_change_names_its_step_and_whether_sessions_stop_there(
    old: str, new: str, change: tuple[str | None, str, bool], demo: Path
) -> None:
    (demo / "workflow.yaml").write_text(DEMO.replace(old, new))

    assert changes(demo) == [WorkflowChange("demo", *change)]


def test_texts_are_compared_as_they_were_in_their_files(demo: Path) -> None:
    assert changes(demo) == []

    (demo / "steps" / "x.md").write_text("Look here.\n")

    assert changes(demo) == [WorkflowChange("demo", "look", "its text changed")]


def test_every_transition_that_is_moved_to_another_step_is_shown() -> None:
    moved = 0
    for skill in listing(()):
        for before in (workflow_source.read(file).definition for file in workflows(skill)):
            for index, step in enumerate(before.steps):
                outcome, target = next(iter(step.next.items()))
                to = before.steps[index - 1].id
                if to != target:
                    other = replace(step, next={**step.next, outcome: to})
                    steps = [*before.steps[:index], other, *before.steps[index + 1 :]]
                    after = Workflow(before.name, *steps, validate=False, params=before.params)
                    [shown] = differences(before, after)
                    assert (shown.step, shown.stops) == (step.id, True)
                    assert f"leads to `{to}`" in shown.what
                    moved += 1

    assert moved > 100


def test_the_command_prints_changes_below_its_findings(demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo.parent)
    (demo / "workflow.yaml").write_text(DEMO.replace("{ok: null}", "{ok: null, fail: look}"))

    ran = flow("check", "./demo", "--against", "HEAD")

    assert ran.status == 0
    assert ran.out.splitlines()[-2:] == [
        "demo: step `tell`: `fail` is new, to `look`; sessions at this step stop until they are migrated",
        "1 change since HEAD",
    ]
    data = flow("check", "./demo", "--against", "HEAD", "--json").data
    assert [change["step"] for change in data["changes"]] == ["tell"]


@pytest.mark.parametrize("revision", ["", "-x", "--output=x", "nosuch", "HEAD:README"])
def test_an_unknown_revision_is_refused(revision: str, demo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(demo.parent)

    status, error = refused("check", "./demo", f"--against={revision}")

    assert (status, error["code"]) == (2, "UNKNOWN_GIT_REVISION")
