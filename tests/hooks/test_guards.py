"""Guards hold without a session: the hook denies a call until the skill has reached the step that allows it."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest
from support.hooks import A, B, claude_code, context, denied, hook, shell, within
from support.sandbox import (
    allow,
    as_person,
    decided,
    flow,
    home_skills,
    project_skills,
    put_skill,
    refused,
    sessions_folder,
)

from flowrail.skills.guard_index import LIFTED_SECONDS

RELEASE = """\
name: NAME
description: Release it.
guards:
  "Bash(git push*)": [publish]
  "Bash(git push --force*)": []
  "Bash(rm -rf*)": []
steps:
  - {id: verify, title: Verify, actions: [Run the tests.], next: {ok: publish, fail: null}}
  - id: publish
    title: Publish
    actions: [Push it.]
    dispatch: {agent: explore, prompt: [Push it.]}
    next: {ok: null}
"""
PYTHON = """\
from flowrail import StepDef, Workflow

WORKFLOW = Workflow(
    "NAME",
    StepDef("look", "Look", ["Look."], next={"ok": "push"}),
    StepDef("push", "Push", ["Push."], next={"ok": None}),
    guards={"Bash(git push*)": ["push"]},
)
"""


def push(conversation: str = A, line: str = "git push origin main", **more: Any) -> str:
    """Return why a shell line is denied, or an empty text."""
    given = {"tool_name": "Bash", "tool_input": {"command": line}, **more}
    return denied(hook("pre-tool-use", claude_code("pre-tool-use", conversation, **given)))


def test_a_guarded_command_is_denied_without_a_session_and_the_skill_is_named() -> None:
    put_skill("release", RELEASE)

    reason = push()

    assert reason.startswith(
        "Skill `release` guards `Bash(git push*)`: it is allowed only at step `publish`."
    )
    assert "Run `flow step release` and follow it step by step." in reason
    assert "`flow approve --guard 'Bash(git push*)'` in a terminal of their own" in reason
    assert push(line="cd src && git push") == reason
    assert push(line="git status && ls") == ""
    assert "no step allows it" in push(line="rm -rf build")


def test_only_the_session_of_this_conversation_allows_it_and_only_at_the_named_step() -> None:
    put_skill("release", RELEASE)

    session = within(A, "step", "release")["session"]
    assert f"Your session is at step `verify`: run `flow resume {session}`" in push(), (
        "starting allows nothing"
    )
    within(A, "step", "release", "ok")
    assert push() == ""
    assert "guards `Bash(git push --force*)`: no step allows it" in push(line="git push --force origin main")
    assert push(B), "another conversation"
    assert push(agent_id="a1b2c3") == "", "a sub-agent of the conversation"


def test_a_child_session_may_do_what_its_parent_may() -> None:
    put_skill("release", RELEASE)
    within(A, "step", "release")
    child = within(A, "step", "release", "ok")["dispatches"][0]["child"]

    shell(f"flow step --session {child}", "a1b2c3")

    assert push(agent_id="a1b2c3") == ""
    within(A, "session", "abandon", child.partition(".")[0])
    assert push(agent_id="a1b2c3"), "its parent has ended"


def test_the_permission_of_one_skill_suffices() -> None:
    put_skill("release", RELEASE)
    put_skill("hotfix", RELEASE.replace("publish", "repair"))

    both = push()
    within(A, "step", "hotfix")
    within(A, "step", "hotfix", "ok")

    assert "`hotfix`" in both
    assert "`release`" in both
    assert push() == ""


def test_a_changed_skill_guards_at_once() -> None:
    skill = put_skill("release", RELEASE.replace("guards:", "guards: {}\nx-guards:"))
    assert push() == ""

    (skill / "workflow.yaml").write_text(RELEASE.replace("NAME", "release"))
    assert push()

    (skill / "workflow.yaml").write_text(RELEASE.replace("NAME", "release").replace("git push", "tools/ship"))
    assert push() == ""
    assert push(line="tools/ship now")

    (skill / "workflow.yaml").unlink()
    assert push(line="tools/ship now") == ""

    (skill / "workflow.yaml").write_text(RELEASE.replace("NAME", "release"))
    assert push(), "also if the folder had no workflow at the call before"


def test_a_bundled_skill_guards_from_its_set_up(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    bundled = tmp_path / "bundled"
    put_skill("release", RELEASE, where=bundled)
    monkeypatch.setattr("flowrail.discovery.locations.bundled_folder", lambda: str(bundled))

    assert push() == ""


def test_python_guards_from_its_approval() -> None:
    put_skill("release", PYTHON, file="workflow.py")
    assert push() == ""

    allow("release")

    assert "`release`" in push()


def test_a_broken_skill_does_not_stop_the_others() -> None:
    put_skill("broken", "name: [")
    put_skill("release", RELEASE)

    assert push()


@pytest.mark.parametrize(
    "broken",
    ["name: [", RELEASE.replace("{ok: publish", "{okay: publish"), RELEASE.replace("[publish]", "7")],
)
def test_a_workflow_with_errors_keeps_its_guards_and_the_agent_reads_how_to_find_them(broken: str) -> None:
    skill = put_skill("release", RELEASE)
    before = push()

    (skill / "workflow.yaml").write_text(broken)

    told = (
        "No session of skill `release` can start, because its workflow has errors or is not approved. "
        "Its last guards hold. `flow check release` shows errors, `flow step release` a missing approval."
    )
    assert told in push()
    said = context(hook("session-start", claude_code("session-start")))
    assert "- `Bash(git push*)`: before it, run `flow step release`.\n- `Bash(git push" in said
    assert f"{told} Tell the user." in said
    (skill / "workflow.yaml").write_text(RELEASE.replace("NAME", "release"))
    assert push() == before


def test_a_running_session_is_still_allowed_what_its_step_allows_when_the_file_breaks() -> None:
    skill = put_skill("release", RELEASE)
    within(A, "step", "release")
    within(A, "step", "release", "ok")
    assert push(B)

    (skill / "workflow.yaml").write_text("name: [")

    assert push() == ""
    assert push(B)


def test_a_workflow_that_was_never_read_is_named_when_a_conversation_begins() -> None:
    put_skill("release", "name: [")

    said = context(hook("session-start", claude_code("session-start")))

    assert "`flow check release` shows errors" in said


def test_changed_python_keeps_its_guards_until_its_approval_is_removed() -> None:
    skill = put_skill("release", PYTHON, file="workflow.py")
    allow("release")
    assert push()

    (skill / "workflow.py").write_text(PYTHON.replace("git push", "git pull"))
    assert push()

    flow("trust", "release", "--remove")
    assert push() == ""


@pytest.mark.parametrize("is_known", [True, False])
def test_a_projects_skill_does_not_remove_the_guards_of_the_users_own_before_its_approval(
    is_known: bool,
) -> None:
    put_skill("release", RELEASE, where=home_skills())
    assert not is_known or push()

    put_skill("release", RELEASE.replace("git push", "git pull"))
    assert "`flow check release` shows errors" in push()

    allow("release")
    assert push() == ""
    assert push(line="git pull")


def test_an_edited_copy_of_a_bundled_skill_keeps_its_guards() -> None:
    flow("setup", "refactor", "--host", "claude-code")
    line = "python3 .claude/skills/refactor/scripts/sample.py draw 3"
    assert push(line=line)

    file = project_skills() / "refactor" / "workflow.yaml"
    file.write_text(
        file.read_text().replace("guards:", "guards: {}\nx-guards:", 1).replace("x-guards:", "# ")
    )

    assert push(line=line)


def test_a_session_that_came_with_the_repository_allows_nothing() -> None:
    put_skill("release", RELEASE)
    within(A, "step", "release")
    session = within(A, "step", "release", "ok")["session"]
    journal = sessions_folder() / session / "journal.jsonl"
    lines = journal.read_text().splitlines()
    forged = sessions_folder() / "release-aaaaaa"
    forged.mkdir()
    (forged / "journal.jsonl").write_text("\n".join(lines).replace(session, "release-aaaaaa") + "\n")
    within(A, "session", "abandon", session)

    assert push()


def test_a_person_lifts_one_call() -> None:
    put_skill("release", RELEASE)

    assert decided("approve", "--guard", "Bash(git push*)")["skills"] == ["release"]

    assert push() == ""
    assert push()


def test_a_permission_for_one_call_ends_after_an_hour() -> None:
    put_skill("release", RELEASE)
    as_person("approve", "--guard", "Bash(git push*)")
    [lifted] = [
        path
        for path in (Path.home() / ".local/state/flowrail/guards").iterdir()
        if "stamps" not in json.loads(path.read_text())
    ]
    old = time.time() - LIFTED_SECONDS - 1
    os.utime(lifted, (old, old))

    assert push()


def test_an_agent_lifts_nothing() -> None:
    put_skill("release", RELEASE)

    assert "`flow approve` is a person's decision" in push(line="flow approve --guard 'Bash(git push*)'")
    status, error = _in_conversation("approve", "--guard", "Bash(git push*)")
    assert (status, error["code"]) == (4, "PERSON_NEEDED")
    assert push()


def _in_conversation(*words: str) -> tuple[int, dict[str, Any]]:
    os.environ["CLAUDE_CODE_SESSION_ID"] = A
    try:
        return refused(*words)
    finally:
        del os.environ["CLAUDE_CODE_SESSION_ID"]


def test_a_new_conversation_reads_which_commands_are_guarded() -> None:
    put_skill("release", RELEASE)

    said = context(hook("session-start", claude_code("session-start")))

    assert "- `Bash(git push*)`: before it, run `flow step release`." in said
    assert "- `Bash(git push --force*)`: never." in said


def test_the_hosts_call_of_a_skill_opens_its_session() -> None:
    put_skill("release", RELEASE)
    given: dict[str, Any] = {"tool_name": "Skill", "tool_input": {"skill": "release"}, "tool_response": {}}

    said = hook("post-tool-use", claude_code("post-tool-use", **given))["hookSpecificOutput"][
        "additionalContext"
    ]
    [opened] = within(A, "sessions")["sessions"]
    again = hook("post-tool-use", claude_code("post-tool-use", **given))["hookSpecificOutput"][
        "additionalContext"
    ]

    assert f"`flow resume {opened['session']}" in said
    assert again == said
    assert len(within(A, "sessions")["sessions"]) == 1


def test_a_command_that_flow_runs_needs_the_permission_too() -> None:
    put_skill("release", RELEASE)
    put_skill(
        "other",
        "name: NAME\ndescription: x\nsteps:\n  - {id: a, title: A, actions: [Go.], "
        "commands: {ship: {run: [git, push]}}, next: {ok: null}}\n",
    )
    allow("other")
    flow("step", "other")

    status, error = refused("run", "ship")

    assert (status, error["code"]) == (4, "CALL_DENIED")
    assert "skill `release` guards `Bash(git push*)`, which is allowed only at `publish`" in error["message"]
