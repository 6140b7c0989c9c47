"""A folder may run if exactly its content was approved."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.skills import git

from flowrail import approval
from flowrail.errors import TrustError

PROJECT = "/nowhere/project"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skill = tmp_path / "skills" / "a-skill"
    (skill / "steps").mkdir(parents=True)
    (skill / "workflow.py").write_text("WORKFLOW = 1\n")
    (skill / "steps" / "first.md").write_text("Do it.\n")
    return skill


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def approve(folder: Path, state: str) -> None:
    approval.approve(approval.snapshot(str(folder)), PROJECT, state, at="now")


def refusal(folder: Path, state: str) -> TrustError:
    with pytest.raises(TrustError) as caught:
        approval.require(str(folder), PROJECT, state, skill="a-skill", why="is code")
    return caught.value


def rename(skill: Path) -> None:
    (skill / "steps" / "first.md").rename(skill / "steps" / "last.md")


CHANGES: dict[str, Callable[[Path], object]] = {
    "steps/first.md (changed)": lambda skill: (skill / "steps" / "first.md").write_text("Do it!\n"),
    "workflow.py (changed)": lambda skill: (skill / "workflow.py").chmod(0o755),
    "steps/.hidden (new)": lambda skill: (skill / "steps" / ".hidden").touch(),
    "workflow.py (gone)": lambda skill: (skill / "workflow.py").unlink(),
    "steps/first.md (gone), steps/last.md (new)": rename,
}


@pytest.mark.parametrize("what", CHANGES)
def test_every_change_ends_the_approval_and_is_named(folder: Path, state: str, what: str) -> None:
    approve(folder, state)
    approval.require(str(folder), PROJECT, state, skill="a-skill", why="is code")

    CHANGES[what](folder)

    error = refusal(folder, state)
    assert error.message == f"skill `a-skill` is code, and it changed since it was approved: {what}"
    assert str(error.hint) == "a person runs: flow trust a-skill"
    assert error.details["digest"] == approval.snapshot(str(folder)).digest


def test_a_folder_that_git_ignores_as_a_whole_is_approved_with_its_content(folder: Path, state: str) -> None:
    git(folder.parent.parent, "init", "-q")
    (folder.parent.parent / ".gitignore").write_text("skills/\n")
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "workflow.pyc").touch()
    approve(folder, state)

    (folder / "workflow.py").write_text("WORKFLOW = 2\n")

    assert "workflow.py (changed)" in refusal(folder, state).message
    assert set(approval.snapshot(str(folder)).files) == {"workflow.py", "steps/first.md"}


ODD: dict[str, Callable[[Path], object]] = {
    "a link": lambda skill: (skill / "odd").symlink_to("workflow.py"),
    "a link to a folder": lambda skill: (skill / "odd").symlink_to("steps"),
    "a pipe": lambda skill: os.mkfifo(skill / "odd"),
}


@pytest.mark.parametrize("what", ODD)
def test_a_folder_with_links_or_devices_cannot_be_approved(folder: Path, state: str, what: str) -> None:
    approve(folder, state)

    ODD[what](folder)

    assert "contains `odd`, which is not a regular file" in refusal(folder, state).message


@pytest.mark.parametrize("content", ["", "[]", '{"folder": 1, "digest": 2, "files": 3, "at": 4}', "[" * 9999])
def test_a_damaged_approval_counts_as_none(folder: Path, state: str, content: str) -> None:
    approve(folder, state)
    (file,) = Path(state, "trust").iterdir()

    file.write_text(content)

    assert "has not been approved" in refusal(folder, state).message


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_an_approval_that_another_user_may_have_written_counts_as_none(folder: Path, state: str) -> None:
    approve(folder, state)

    os.chown(Path(state, "trust"), 12345, -1)

    assert "has not been approved" in refusal(folder, state).message


def test_approvals_behind_a_link_count_as_none(folder: Path, state: str, tmp_path: Path) -> None:
    approve(folder, state)

    Path(state, "trust").rename(tmp_path / "elsewhere")
    Path(state, "trust").symlink_to(tmp_path / "elsewhere")

    assert "has not been approved" in refusal(folder, state).message
