"""`flow doctor`: the whole set-up on one page, each finding with a fact and what to do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import (
    flow,
    home_skills,
    put_python,
    put_skill,
    sessions_folder,
    told,
)
from support.skills import head, put

from flowrail import __version__

OURS = "#!/bin/sh\n# from flowrail.__main__ import main\n"


@pytest.fixture(autouse=True)
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put only our `flow` on PATH."""
    command = tmp_path / "bin" / "flow"
    command.parent.mkdir()
    command.write_text(OURS)
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent))
    return command


def findings(*words: str) -> list[dict[str, Any]]:
    sections = flow("doctor", *words, "--json").data["sections"]
    return [finding for section in sections for finding in section["findings"]]


def only(code: str) -> dict[str, Any]:
    (match,) = [finding for finding in findings() if finding["code"] == code]
    return match


def clean(name: str) -> str:
    """Return a card that the open specification and the newer dialect have nothing to say about."""
    handoff = 'handoff: "{accepts_from: [\\"*\\"], categories: [research], schema_version: 3.0}"'
    return head(name, f"metadata:\n  {handoff}")


def test_a_set_up_in_order_is_told_so() -> None:
    put(home_skills(), "reader", clean("reader"))

    ran = flow("doctor")

    assert (ran.status, ran.err) == (0, "")
    assert ran.out.endswith("\n\nnothing is wrong.\n")
    sections = [part.partition("\n")[0] for part in ran.out.split("\n\n")]
    assert sections[:5] == ["installation", "skills", "workflows", "sessions", "hooks"]
    assert f"  flowrail {__version__}, Python {sys.version.split()[0]} ({sys.executable})\n" in ran.out
    assert "  ~/.claude/skills (home): 1 skill\n" in ran.out
    assert "not found; `flow step SKILL` creates it" in ran.out


# --- installation ---------------------------------------------------------------------------------


def test_a_command_that_is_not_on_the_path_is_wrong(on_path: Path) -> None:
    on_path.unlink()

    ran = flow("doctor")

    assert ran.status == 1
    assert "\n  error FLOW_NOT_ON_PATH: `flow` is not on PATH, and every" in ran.out
    assert "1 error, 0 warnings." in ran.out


# --- skills ---------------------------------------------------------------------------------------


def test_what_keeps_a_skill_from_working_is_wrong() -> None:
    put(home_skills(), "none", "no frontmatter")
    put(home_skills(), "nocat", head("nocat", 'handoff: {accepts_from: ["*"]}'))

    left_out = [finding for finding in findings() if finding["code"] == "SKILL_LEFT_OUT"]

    assert {(finding["severity"], finding["place"].rpartition("/skills/")[2]) for finding in left_out} == {
        ("error", "none/SKILL.md:1"),
        ("error", "nocat/SKILL.md:4"),
    }
    assert flow("doctor").status == 1


# --- registry and workflows -----------------------------------------------------------------------


def test_mistakes_in_workflows_are_told_with_their_place_and_no_code_of_a_project_is_run() -> None:
    canary = Path.cwd() / "canary"
    folder = put_skill("small", "name: NAME\nsteps: []\n", where=home_skills())
    put_python("py", before=f"open({str(canary)!r}, 'w')\n")

    finding = next(finding for finding in findings() if finding["code"] == "FR114")

    assert finding["severity"] == "error"
    assert finding["place"].startswith(f"{folder}/workflow.yaml")
    assert not canary.exists()


# --- sessions -------------------------------------------------------------------------------------


def test_sessions_are_counted_and_broken_ones_named() -> None:
    put_skill("small", where=home_skills())
    told("step", "small", "--new")
    told("step", "small", "--new")
    ended, broken = told("step", "small", "--new")["session"], told("step", "small", "--new")["session"]
    told("session", "abandon", ended)
    (sessions_folder() / broken / "journal.jsonl").write_text("x\n")
    (sessions_folder() / "small-aaaaaa").mkdir()

    ran = flow("doctor")

    assert "  .flow: 2 open, 1 ended, 1 that cannot be used\n" in ran.out
    assert [finding["place"] for finding in findings()] == [broken]
    assert ran.status == 1


def test_a_key_that_is_none_is_wrong() -> None:
    told("step", "decision-critic", "--new")
    (Path.home() / ".local/state/flowrail/key").write_text("x")

    (finding,) = findings()
    assert "key" in finding["message"]


def test_a_store_that_is_no_folder_is_wrong() -> None:
    (Path.cwd() / "file").write_text("")
    (Path.cwd() / "link").symlink_to(Path.cwd())
    (Path.cwd() / "dead").symlink_to("nowhere")

    for store in ("file", "file/below", "link", "dead/below"):
        (finding,) = findings("--store", store)
        assert (finding["code"], finding["severity"]) == ("STORE_UNUSABLE", "error")


# --- trust ----------------------------------------------------------------------------------------
