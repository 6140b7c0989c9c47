"""Uninstalling removes what was installed, and nothing else."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest
from support.installed import SKILL, files
from support.sandbox import flow, project_skills, put_skill, refused, unchanged

from flowrail.skills.bundled_copies import MANIFEST


def test_what_was_written_is_taken_away_and_nothing_else(installed: Path) -> None:
    (installed / "steps" / "synthesis.md").write_text("Mine.\n")
    (installed / "steps" / "extra.md").write_text("Mine too.\n")
    (installed / "SKILL.md").unlink()

    with unchanged(project_skills()):
        flow("setup", SKILL, "--remove", "--check")
    ran = flow("setup", SKILL, "--remove")

    assert "not removed, because it has changed: steps/synthesis.md" in ran.out
    assert files(installed) == {"steps/extra.md": b"Mine too.\n", "steps/synthesis.md": b"Mine.\n"}
    assert not (installed / MANIFEST).exists()


def test_files_that_were_not_installed_keep_the_folder(installed: Path) -> None:
    (installed / "notes.txt").write_text("Mine.\n")

    planned, done, again = (
        flow("setup", *words, "--remove").out for words in ((SKILL, "--check"), (SKILL,), ("--home",))
    )

    assert planned.startswith(f"{SKILL} in {installed}: ")
    assert planned.endswith(" removed\nnothing was written\n")
    assert done.endswith(" removed\nits folder stays: it contains files that were not installed\n")
    assert again == "nothing to remove\n"


@pytest.mark.parametrize("name", [SKILL, "../decision-critic", "nosuch"])
def test_what_was_not_installed_is_not_taken_away(name: str) -> None:
    put_skill(SKILL)

    status, error = refused("setup", name, "--remove")

    assert (status, error["code"]) == (2, "NOT_INSTALLED")
    assert (project_skills() / SKILL / "workflow.yaml").exists()


@pytest.mark.parametrize("options", [[], ["--remove"]])
@pytest.mark.parametrize("said", ["odd", "0" * 64])
@pytest.mark.parametrize("absolute", [True, False])
def test_a_list_that_names_files_elsewhere_takes_nothing_away(
    installed: Path, tmp_path: Path, options: list[str], said: str, absolute: bool
) -> None:
    victim = tmp_path / "victim" / "file"
    victim.parent.mkdir()
    victim.write_text("theirs")
    digest = hashlib.sha256(b"theirs").hexdigest() if said != "odd" else said
    named = str(victim) if absolute else os.path.relpath(victim, installed)
    (installed / MANIFEST).write_text(json.dumps({"format": 1, "version": "1", "files": {named: digest}}))

    flow("setup", SKILL, *options)

    assert victim.read_text() == "theirs"
