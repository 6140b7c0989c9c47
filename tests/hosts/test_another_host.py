"""A host that is only a class in `HOSTS`: setup, hooks and the rules for commands of people work for it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.sandbox import SMALL, process, put_skill

ADDED = """
from flowrail.hosts import host

class OtherTools(host.ToolNames):
    shells = frozenset({"terminal"})
    edits = frozenset({"patch"})

class OtherKeys(host.InputKeys):
    event = "moment"
    conversation = "talk"
    tool = "name"
    tool_input = "arguments"

class Other(host.Host):
    name = "other"
    title = "Other"
    skills = ".other/skills"
    folder = ".other"
    settings = ".other/hooks.json"
    events = {"session-start": "Began", "stop": "TurnEnds", "pre-tool-use": "BeforeTool", "post-tool-use": "ToolRan"}
    input_keys = OtherKeys()
    tools = OtherTools()
    conversation = "OTHER_TALK"
    variable_prefix = "OTHER"
    project = "OTHER_ROOT"

host.HOSTS += (Other(),)
"""
TALK = {"OTHER_TALK": "talk-1"}
STRICT = SMALL.replace("title: First,", "title: First, forbids: ['Bash(git push*)'],")


def run(*words: str, env: dict[str, str] | None = None, stdin: str = "") -> Any:
    """Run a command of a flowrail that has the host, and return its output."""
    ran = process(*words, env=env, stdin=stdin, before=ADDED)
    assert ran.status == 0, ran
    return ran.data if ran.out.startswith("{") else ran.out


def before_terminal(command: str, folder: Path | None = None, env: dict[str, str] | None = None) -> Any:
    """Return the answer to the host before it runs *command*."""
    said = {"moment": "BeforeTool", "talk": "talk-1", "cwd": str(folder or Path.cwd()), "name": "terminal"}
    return run("hook", "pre-tool-use", env=env, stdin=json.dumps({**said, "arguments": {"command": command}}))


def test_setup_writes_its_own_events_and_tools_and_removes_them() -> None:
    run("setup", "problem-analysis", "--host", "other")

    hooks = json.loads(Path(".other/hooks.json").read_text())["hooks"]
    assert list(hooks) == ["Began", "TurnEnds", "BeforeTool", "ToolRan"]
    assert hooks["ToolRan"][0]["matcher"] == "patch|terminal"
    assert "flow hook stop" in hooks["TurnEnds"][0]["hooks"][0]["command"]
    assert "problem-analysis" in run("list", "--format", "text")
    assert run("setup", "--check", "--json", env=TALK)["host"] == "other"

    run("setup", "--remove", "--host", "other")

    assert not list(Path(".other").glob("**/*.*"))


def test_its_hooks_keep_its_conversation_at_the_step_and_answer_in_its_names(tmp_path: Path) -> None:
    put_skill("small", STRICT, where=Path(".other/skills"))
    run("step", "small", "--new", env=TALK)
    stop = {"moment": "TurnEnds", "talk": "talk-1", "cwd": str(Path.cwd())}

    denied = before_terminal("git push")["hookSpecificOutput"]

    assert (denied["hookEventName"], denied["permissionDecision"]) == ("BeforeTool", "deny")
    assert before_terminal("git status") == {}
    assert before_terminal("git push", tmp_path) == {}
    assert before_terminal("git push", tmp_path, {"OTHER_ROOT": str(Path.cwd())}) != {}
    assert run("hook", "stop", stdin=json.dumps(stop))["decision"] == "block"
    assert run("hook", "stop", stdin=json.dumps({**stop, "talk": "talk-2"})) == {}


@pytest.mark.parametrize(
    "command", ["flow approve small", "OTHER_TALK= flow answer q a", "env -u OTHER_TALK flow ui"]
)
def test_its_agents_cannot_decide_for_a_person_or_hide_their_conversation(command: str) -> None:
    reason = before_terminal(command)["hookSpecificOutput"]["permissionDecisionReason"]

    assert "is a person's decision" in reason
    assert before_terminal(command.replace("OTHER", "ANY").replace("approve", "show")) == {}
