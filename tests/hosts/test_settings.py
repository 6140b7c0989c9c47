"""flowrail's hooks in the settings of hosts: everything else in them stays."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sandbox import SMALL, flow, put_skill, told

from flowrail.hosts.protocol import EVENTS
from flowrail.hosts.settings import PERMISSIONS, hook_command, hooks, with_hooks, without_hooks
from flowrail.operations.doctor.hooks import hooks_section
from flowrail.operations.environment import Environment

PROJECT = Path(".claude/settings.json")
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
    return [finding._asdict() for finding in hooks_section(Environment()).findings]


def test_without_settings_a_file_is_made_and_removed_again() -> None:
    assert told("hook", "install")["changed"] is True
    assert json.loads(PROJECT.read_text()) == {"hooks": hooks()}
    assert told("hook", "install")["changed"] is False

    assert told("hook", "uninstall")["changed"] is True
    assert not PROJECT.parent.exists()


def test_other_entries_stay_in_their_order_and_indentation() -> None:
    put(OTHERS)

    told("hook", "install", "--permissions")
    installed = PROJECT.read_text()
    told("hook", "uninstall")

    settings = json.loads(installed)
    assert list(settings) == ["model", "hooks", "permissions", "z", "a"]
    assert installed.startswith('{\n    "model"')
    assert '"é"' in installed
    assert settings["hooks"]["Stop"][0]["hooks"][0]["command"] == "say 'done, }]'"
    assert settings["permissions"]["allow"] == ["Bash(ls *)", *PERMISSIONS]
    assert json.loads(PROJECT.read_text()) == json.loads(OTHERS)


DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
GROUPS = st.lists(
    st.fixed_dictionaries(
        {"hooks": st.lists(st.fixed_dictionaries({"command": st.text(max_size=4)}), max_size=2)}
    ),
    max_size=2,
)
OWN = st.fixed_dictionaries(
    {},
    optional={
        "hooks": st.dictionaries(st.sampled_from([*EVENTS.values(), "Other"]), GROUPS, max_size=4),
        "permissions": st.fixed_dictionaries(
            {}, optional={"allow": st.lists(st.text(max_size=4), max_size=2)}
        ),
        "x": DOCUMENTS,
        "y": DOCUMENTS,
    },
)


@given(OWN, st.booleans())
def test_adding_hooks_can_be_undone(value: Any, permissions: bool) -> None:
    added = with_hooks(value, permissions=permissions)

    assert with_hooks(added, permissions=permissions) == added
    for name, groups in hooks().items():
        assert added["hooks"][name] == [*value.get("hooks", {}).get(name, []), *groups]
    assert _not_empty(without_hooks(added)) == _not_empty(value)


def _not_empty(settings: Any) -> Any:
    """Return *settings* without empty lists of hooks and rules: they mean nothing to a host."""
    events = {name: groups for name, groups in settings.get("hooks", {}).items() if groups}
    rules = {name: values for name, values in settings.get("permissions", {}).items() if values}
    others = {key: value for key, value in settings.items() if key not in {"hooks", "permissions"}}
    return others | ({"hooks": events} if events else {}) | ({"permissions": rules} if rules else {})


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

    for verb in ("install", "uninstall"):
        ran = flow("hook", verb, "--json")
        assert (ran.status, ran.error["code"]) == (2, "SETTINGS_UNUSABLE")
        assert "flow hook stop" in ran.error["hint"]
        assert ran.error["message"].startswith(
            f"{PROJECT.absolute()}:{line}: " if line else f"{PROJECT.absolute()}: "
        )
        assert PROJECT.read_text() == text
    assert '\n        "Stop": [\n' in flow("hook", "install").err
    assert [finding["code"] for finding in findings()] == ["SETTINGS_UNREADABLE"]


def test_a_dry_run_shows_the_difference_and_writes_nothing() -> None:
    put(OTHERS)

    shown = flow("hook", "install", "--dry-run").out

    assert "+" in shown
    assert "flow hook stop" in shown
    assert "nothing was written" in shown
    assert PROJECT.read_text() == OTHERS
    told("hook", "install")
    installed = PROJECT.read_text()
    assert "-" in flow("hook", "uninstall", "--dry-run").out
    assert PROJECT.read_text() == installed


def test_a_users_own_settings_may_be_a_link_and_the_projects_may_not(tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text('{\n  "a": 1\n}\n')
    real.chmod(0o640)
    home = Path(os.environ["HOME"]) / ".claude"
    home.mkdir()
    (home / "settings.json").symlink_to(real)

    told("hook", "install", "--to", "home")
    assert (home / "settings.json").is_symlink()
    assert "flow hook stop" in real.read_text()
    assert real.stat().st_mode & 0o777 == 0o640
    told("hook", "uninstall", "--to", "home")
    assert real.read_text() == '{\n  "a": 1\n}\n'
    PROJECT.parent.mkdir()
    PROJECT.symlink_to(real)
    ran = flow("hook", "install", "--json")
    assert (ran.status, ran.error["code"]) == (4, "SETTINGS_LINKED")
    assert real.read_text() == '{\n  "a": 1\n}\n'


def test_codex_has_a_file_of_its_own() -> None:
    out = flow("hook", "install", "--host", "codex").out
    assert "/hooks" in out
    assert json.loads(Path(".codex/hooks.json").read_text()) == {"hooks": hooks()}
    told("hook", "install", "--host", "codex", "--to", "home", "--permissions")
    assert "permissions" not in (Path(os.environ["HOME"]) / ".codex/hooks.json").read_text()
    assert [finding["code"] for finding in findings()] == ["HOOKS_TWICE"]
    told("hook", "uninstall", "--host", "codex")
    assert not Path(".codex/hooks.json").exists()
    assert findings() == []


def test_the_doctor_knows_what_is_missing() -> None:
    assert findings() == []
    assert "flow hook install" in flow("doctor").out
    told("hook", "install")
    assert findings() == []
    assert str(PROJECT) in flow("doctor").out
    text = PROJECT.read_text()
    PROJECT.write_text(text.replace('"SubagentStop"', '"Other"'))
    (finding,) = [item for item in flow("doctor", "--json").data["findings"] if item["section"] == "hooks"]
    assert (finding["code"], finding["severity"]) == ("HOOKS_MISSING", "warning")
    assert "subagent-stop" in finding["message"]


def test_what_a_host_runs_answers_even_where_there_is_no_flow(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for event in EVENTS:
        done = subprocess.run(
            ["/bin/sh", "-c", hook_command(event)], env={"PATH": str(tmp_path / "bin")}, input="{}",
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        message = json.loads(done.stdout).get("systemMessage", "")
        assert (done.returncode, done.stderr) == (0, "")
        assert ("not on the PATH" in message) == (event == "session-start")


def test_the_hook_before_a_tool_is_called_for_the_tools_that_workflows_forbid() -> None:
    told("hook", "install")
    matcher = json.loads(PROJECT.read_text())["hooks"]["PreToolUse"][0]["matcher"]
    assert [bool(re.fullmatch(matcher, tool)) for tool in ("Bash", "Write", "Read", "mcp__git__push")] == [
        True, True, False, False,
    ]  # fmt: skip

    put_skill("strict", SMALL.replace("title: First,", "title: First, forbids: [Read, mcp__git],"))
    assert [finding["code"] for finding in findings()] == ["HOOKS_OUTDATED"]
    told("hook", "install")

    matcher = json.loads(PROJECT.read_text())["hooks"]["PreToolUse"][0]["matcher"]
    assert all(re.fullmatch(matcher, tool) for tool in ("Bash", "Write", "Read", "Grep", "mcp__git__push"))
    assert findings() == []


def test_no_permission_lets_an_agent_decide_for_a_person() -> None:
    words = {rule.split()[1] for rule in PERMISSIONS}

    assert not words & {
        "trust",
        "hook",
        "install",
        "uninstall",
        "migrate",
        "prune",
        "rewind",
        "mcp",
        "session",
    }
    assert all(flow(word, "--help").status == 0 for word in words)


def test_a_place_that_cannot_be_made_is_refused_with_a_hint() -> None:
    (Path.home() / ".claude").symlink_to("/proc/nowhere")

    ran = flow("hook", "install", "--to", "home")

    assert ran.status == 3
    assert "could not be created" in ran.err
    assert "[WRITE_FAILED]\n  " in ran.err
