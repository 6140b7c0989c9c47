"""`flow setup` in the settings of hosts: hooks and permissions are added, and everything else stays."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import flow, refused, told

from flowrail.hosts.host import CLAUDE_CODE, EVENTS
from flowrail.hosts.settings import PERMISSIONS, hook_command, hooks

PROJECT, LOCAL = Path(".claude/settings.json"), Path(".claude/settings.local.json")
OTHERS = """\
{
    "model": "opus",
    "hooks": {
        "Stop": [{"matcher": "", "hooks": [{"type": "command", "command": "say 'done, }]'"}]}],
        "PostToolUse": [{"matcher": "Edit|Write", "hooks": [{"type": "command", "command": "fmt"}]}]
    },
    "permissions": {"allow": ["Bash(ls *)"], "deny": []},
    "z": 1,
    "a": "é"
}
"""


def put(text: str) -> None:
    PROJECT.parent.mkdir(exist_ok=True)
    PROJECT.write_text(text)


def findings() -> list[dict[str, Any]]:
    """Return the findings of `flow doctor` about hooks."""
    sections = flow("doctor", "--json").data["sections"]
    return next(section["findings"] for section in sections if section["name"] == "hooks")


def entries() -> dict[str, Any]:
    """Return our entries as a host's settings hold them."""
    return {name: [entry] for name, entry in hooks(CLAUDE_CODE).items()}


def test_one_command_writes_hooks_permissions_and_the_skill_and_another_removes_them() -> None:
    ran = flow("setup", "problem-analysis")
    assert json.loads(PROJECT.read_text()) == {"hooks": entries(), "permissions": {"allow": [*PERMISSIONS]}}
    assert Path(".claude/skills/problem-analysis/SKILL.md").exists()
    assert "Restart Claude Code" in ran.out
    assert "without asking: step, resume, run," in ran.out
    assert "the hooks of flow are in " in flow("setup", "problem-analysis").out

    flow("setup", "--remove")

    assert list(Path.cwd().glob(".claude/**/*.*")) == []


def test_other_entries_stay_in_their_order_and_indentation() -> None:
    put(OTHERS)

    told("setup")
    written = PROJECT.read_text()
    told("setup", "--remove")

    settings = json.loads(written)
    assert list(settings) == ["model", "hooks", "permissions", "z", "a"]
    assert written.startswith('{\n    "model"')
    assert '"é"' in written
    assert settings["hooks"]["Stop"][0]["hooks"][0]["command"] == "say 'done, }]'"
    assert settings["permissions"]["allow"] == ["Bash(ls *)", *PERMISSIONS]
    assert json.loads(PROJECT.read_text()) == json.loads(OTHERS)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{", 1),
        ('{\n  // mine\n  "a": 1\n}', 2),
        ("[]", 0),
        ('{"a": 1, "a": 2}', 0),
        ("[" * 200 + "]" * 200, 0),
    ],
)
def test_settings_that_are_not_plain_json_are_refused_with_the_lines_to_add(text: str, line: int) -> None:
    put(text)

    for words in ([], ["--remove"]):
        status, error = refused("setup", *words)
        assert (status, error["code"]) == (2, "SETTINGS_UNUSABLE")
        assert "flow hook stop" in error["hint"]
        place = f"{PROJECT.absolute()}:{line}: " if line else f"{PROJECT.absolute()}: "
        assert error["message"].startswith(place)
        assert PROJECT.read_text() == text
    assert [finding["code"] for finding in findings()] == ["SETTINGS_UNREADABLE"]


def test_a_users_own_settings_may_be_a_link_and_the_projects_may_not_lead_outside(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{\n  "a": 1\n}\n')
    real.chmod(0o640)
    home = Path(os.environ["HOME"]) / ".claude"
    home.mkdir()
    (home / "settings.json").symlink_to(real)

    told("setup", "--home")
    assert (home / "settings.json").is_symlink()
    assert "flow hook stop" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    told("setup", "--home", "--remove")
    assert real.read_text() == '{\n  "a": 1\n}\n'
    PROJECT.parent.mkdir()
    PROJECT.symlink_to(real)
    status, error = refused("setup")
    assert (status, error["code"]) == (4, "PLACE_ELSEWHERE")
    assert real.read_text() == '{\n  "a": 1\n}\n'


def test_codex_has_a_file_of_its_own_and_no_permissions() -> None:
    ran = flow("setup", "--host", "codex")

    settings = json.loads(Path(".codex/hooks.json").read_text())
    assert "/hooks" in ran.out
    assert "permissions" not in settings
    assert "flow hook stop" in settings["hooks"]["Stop"][0]["hooks"][0]["command"]
    told("setup", "--host", "codex", "--home")
    assert findings() == []
    told("setup", "--host", "codex", "--remove")
    assert not Path(".codex").exists()
    assert findings() == []


def test_a_host_without_hooks_gets_skills_and_the_lines_for_its_instructions() -> None:
    ran = flow("setup", "problem-analysis", "--host", "agents")

    assert "Add these lines to AGENTS.md" in ran.out
    assert Path(".agents/skills/problem-analysis/SKILL.md").exists()
    assert not Path(".claude").exists()


@pytest.mark.parametrize(
    ("signs", "found"),
    [
        ([], "claude-code"),
        (["program"], "codex"),
        (["program", "home"], "claude-code"),
        (["home", "project"], "codex"),
        (["project", "conversation"], "claude-code"),
    ],
)
def test_the_host_is_found_by_its_conversation_its_folders_or_its_program(
    signs: list[str], found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin" / "codex"
    program.parent.mkdir()
    if "program" in signs:
        program.touch(0o755)
    if "home" in signs:
        (Path.home() / ".claude").mkdir()
    if "project" in signs:
        Path(".codex").mkdir()
    if "conversation" in signs:
        monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "a")
    monkeypatch.setenv("PATH", str(program.parent))

    assert flow("setup", "--check", "--json").data["host"] == found


def test_a_hook_answers_even_if_flow_is_not_installed(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for event in EVENTS:
        done = subprocess.run(
            ["/bin/sh", "-c", hook_command(event)], env={"PATH": str(tmp_path / "bin")}, input="{}",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        message = json.loads(done.stdout).get("systemMessage", "")
        assert (done.returncode, done.stderr) == (0, "")
        assert ("not on the PATH" in message) == (event == "session-start")


def test_permissions_name_commands_of_agents_and_none_of_people() -> None:
    commands = [rule.removeprefix("Bash(flow ").removesuffix(" *)") for rule in PERMISSIONS]

    assert not {words.split()[0] for words in commands} & {
        "approve", "waive", "trust", "session", "setup", "hook", "new", "store", "ui", "mcp", "fleet", "registry",
    }  # fmt: skip
    assert all(flow(*words.split(), "--help").status == 0 for words in commands)
