"""A copy of a bundled skill runs like that one as long as nobody changed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.installed import SKILL
from support.sandbox import flow, refused, told


def test_a_copy_runs_like_the_bundled_one(installed: Path) -> None:
    begun = told("step", SKILL)

    assert begun["status"] == "active"
    assert told("step", SKILL, "ok")["step"]["number"] == 2
    assert {item["name"]: item["as_bundled"] for item in told("list")["skills"]}[SKILL] is True
    assert "project, as bundled" in flow("show", SKILL).out
    (installed / ".DS_Store").write_bytes(b"left by a file manager")
    assert flow("step", SKILL, "--new").status == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (
            lambda folder: (folder / "steps" / "synthesis.md").write_text("Mine."),
            "steps/synthesis.md (changed)",
        ),
        (lambda folder: (folder / "steps" / "synthesis.md").unlink(), "steps/synthesis.md (gone)"),
        (
            lambda folder: (folder / "workflows").mkdir() or (folder / "workflows" / "x.yaml").touch(),
            "workflows/x.yaml (new)",
        ),
    ],
)
def test_a_changed_copy_asks_for_leave_and_names_the_change(installed: Path, change: Any, named: str) -> None:
    change(installed)

    status, error = refused("step", SKILL)

    assert (status, error["code"]) == (7, "NOT_TRUSTED")
    assert f"differs from it: {named} and has not been approved" in error["message"]
    again = f"flow setup {SKILL} --host claude-code --force"
    assert error["hint"] == f"a person runs: flow trust {SKILL}; or replace it: {again}"
    assert {item["name"]: item["as_bundled"] for item in told("list")["skills"]}[SKILL] is False


def test_a_session_of_a_copy_keeps_its_texts_where_the_copy_changes(installed: Path) -> None:
    told("step", SKILL)
    changed = installed / "steps" / "classify_verifiability.md"
    bundled = changed.read_text()
    changed.write_text("Another conclusion.")

    moved = told("step", SKILL, "ok")
    status, error = refused("step", SKILL, "--new")

    assert moved["step"]["id"] == "classify_verifiability"
    assert moved["actions"][0].startswith(bundled.partition("`")[0])
    assert (status, error["code"]) == (7, "NOT_TRUSTED")
    assert "steps/classify_verifiability.md (changed)" in error["message"]
    flow("setup", SKILL, "--force")
    assert flow("step", SKILL, "--new").status == 0
