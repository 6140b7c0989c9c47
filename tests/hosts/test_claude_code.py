"""Claude Code itself, with a scripted model, runs flowrail's hooks and respects their answers.

`nox -s hosts` installs the host. Without it, these tests are skipped.
"""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from support.sandbox import flow, put_skill, told
from support.scripted_model import Messages, ScriptedModel, Turn, bash, call, say, served, text_of
from support.terminal import SEQUENCE

CLAUDE = shutil.which("claude")
REPOSITORY = Path(__file__).parents[2]

pytestmark = pytest.mark.skipif(CLAUDE is None, reason="Claude Code is not installed: nox -s hosts")

GUARDING = """\
name: NAME
description: Publish the shop. Use it before every push.
guards: {"Bash(git push*)": [publish]}
steps:
  - {id: verify, title: Verify, actions: ["Run the tests."], forbids: ["Write"], next: {ok: publish}}
  - {id: publish, title: Publish, actions: ["Push the branch."], next: {ok: null}}
"""
ASKING = """\
name: NAME
description: Publish a release if a person agrees. Use it for releases.
steps:
  - id: ask
    title: Ask
    actions: ["Show the user the changes."]
    questions:
      - id: ship
        header: Publish
        text: "Publish to production?"
        person: true
        options:
          - {label: "Yes", outcome: ok, description: "All users get it"}
          - {label: "No", outcome: fail, description: "Nothing"}
    next: {ok: publish, fail: null}
  - {id: publish, title: Publish, actions: ["Publish it."], next: {ok: null}}
"""
LEADING = """\
name: NAME
description: Ask an agent. Use it for questions.
steps:
  - id: ask
    title: Ask
    actions: ["Let an agent do it."]
    dispatch: {agent: general-purpose, prompt: "Say what you think."}
    next: {ok: null, fail: null}
"""


def environment(address: str) -> dict[str, str]:
    """Return the environment of a user who trusts the project and whose model is at *address*."""
    home = Path(os.environ["HOME"])
    settings = home / ".claude.json"
    known = json.loads(settings.read_text()) if settings.exists() else {}
    known["projects"] = {str(Path.cwd().resolve()): {"hasTrustDialogAccepted": True}}
    known |= {"hasCompletedOnboarding": True, "customApiKeyResponses": {"approved": ["unused"]}}
    settings.write_text(json.dumps(known))
    return {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "TERM": "xterm-256color",
        "ANTHROPIC_API_KEY": "unused",
        "ANTHROPIC_BASE_URL": address,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
    }


def claude(*words: str, address: str = "") -> str:
    """Run Claude Code without a terminal, and return what it printed."""
    done = subprocess.run(
        [str(CLAUDE), *words],
        env=environment(address),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def at_its_terminal(prompt: str, address: str, *, question: str, done: str) -> None:
    """Run Claude Code at a terminal, press Enter when it shows *question*, and end it when it shows *done*."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
    process = subprocess.Popen(
        [str(CLAUDE), prompt], env=environment(address), stdin=theirs, stdout=theirs, stderr=theirs
    )
    output, is_answered, end = b"", False, time.monotonic() + 120
    try:
        while time.monotonic() < end:
            if select.select([ours], [], [], 0.5)[0]:
                output += os.read(ours, 1 << 16)
            shown = "".join(SEQUENCE.sub("", output.decode(errors="replace")).split())
            if not is_answered and question in shown:
                time.sleep(1)  # the host ignores keys while it draws the question
                os.write(ours, b"\r")
                is_answered = True
            if is_answered and done in shown:
                return
        pytest.fail(output.decode(errors="replace"))
    finally:
        process.kill()
        process.wait()
        os.close(ours)
        os.close(theirs)


def converse(script: Mapping[str, Sequence[Turn]], *words: str, prompt: str = "Push it") -> ScriptedModel:
    """Let Claude Code work on a prompt with a model that follows *script*; return what the model read."""
    with served(script) as model:
        claude("-p", prompt, *words, address=model.address)
    return model


@pytest.fixture
def guarding() -> None:
    put_skill("release", GUARDING)
    assert flow("setup", "--host", "claude-code").status == 0


@pytest.mark.usefixtures("guarding")
def test_a_guarded_command_is_denied_until_the_skill_allows_it_and_the_transcript_shows_so() -> None:
    model = converse(
        {
            "Push it": [
                bash("git push --dry-run"),
                bash("flow step release"),
                call("Write", file_path=str(Path.cwd() / "new.txt"), content="x"),
                bash("flow step release ok"),
                bash("git push --dry-run"),
                bash("flow step release ok"),
                say("Pushed."),
            ]
        },
        "--allowedTools",
        "Bash(git push:*)",
        "Write",
    )

    results = tool_results(model.messages["Push it"])
    assert "Skill `release` guards `Bash(git push*)`" in results[0]
    assert '<step_header id="verify"' in results[1]
    assert "does not use `Write`" in results[2]
    assert not Path("new.txt").exists()
    assert '<step_header id="publish"' in results[3]
    assert "guards" not in results[4], "git itself answers, because the folder has no remote"
    assert 'status="completed"' in results[5]
    assert "before it, run `flow step release`" in text_of(model.messages["Push it"])
    judged = flow("conform", "release", str(Path(os.environ["HOME"], ".claude", "projects")))
    assert judged.status == 0
    assert "Bash(git push*) only at publish: 1 kept, 0 broken, 0 unknown" in judged.out


@pytest.mark.usefixtures("guarding")
def test_an_agent_that_ends_its_turn_too_early_is_sent_back_to_its_step() -> None:
    model = converse(
        {
            "Push it": [
                bash("flow step release --format text"),
                say("Done."),
                bash("flow step release ok --format text"),
                bash("flow step release ok --format text"),
                say("Now it is done."),
            ]
        }
    )

    assert re.search(
        r"You are not finished: .*step 1 of 2.*flow resume release-", text_of(model.messages["Push it"])
    )
    (session,) = told("sessions", "--all")["sessions"]
    assert session["status"] == "completed"


@pytest.mark.usefixtures("guarding")
def test_a_resumed_conversation_is_shown_its_open_session() -> None:
    converse({"Push it": [bash("flow step release --format text")] + [say("Enough.")] * 6})

    model = converse({"Push it": [say("Enough.")] * 6}, "--continue")

    assert "Run this now; it does not change the session" in text_of(model.messages["Push it"])
    assert "release, step 1 of 2" in text_of(model.messages["Push it"])


@pytest.mark.usefixtures("guarding")
def test_an_agent_is_shown_its_step_after_a_compaction() -> None:
    converse({"Push it": [bash("flow step release --format text"), *[say("Enough.")] * 6]})
    converse({"Push it": [say("A summary without any command.")] * 3}, "--continue", prompt="/compact")

    model = converse({"Go on": [say("Enough.")] * 6}, "--continue", prompt="Go on")

    assert "A summary without any command." in text_of(model.messages["Go on"])
    assert "Run this now; it does not change the session" in text_of(model.messages["Go on"])


def test_a_sub_agent_is_sent_back_until_its_child_session_has_ended() -> None:
    put_skill("lead", LEADING)
    assert flow("setup", "--host", "claude-code").status == 0

    def launch(messages: Messages) -> Mapping[str, object]:
        printed = re.search(r"flow step --session (\S+)", text_of(messages))
        assert printed is not None
        prompt = f"Work in the child session: run `{printed[0]}` and follow it."
        return call("Agent", description="work", prompt=prompt, subagent_type="general-purpose")

    def in_child(outcome: str) -> Turn:
        def turn(messages: Messages) -> Mapping[str, object]:
            found = re.search(r"flow step --session ([\w.-]+)", text_of(messages))
            assert found is not None
            return bash(f"flow step{outcome} --session {found[1]} --format text")

        return turn

    model = converse(
        {
            "Work in the child session": [in_child(""), say("Done."), in_child(" ok"), say("My result.")],
            "Push it": [bash("flow step lead --format text"), launch, *[say("Done.")] * 6],
        }
    )

    assert "You are not finished" in text_of(model.messages["Work in the child session"])


def test_what_the_user_chooses_in_the_question_tool_is_recorded_as_a_persons_answer() -> None:
    put_skill("release", ASKING)
    assert flow("setup", "--host", "claude-code").status == 0
    options = [{"label": "Yes", "description": "All users get it"}, {"label": "No", "description": "Nothing"}]
    question = {
        "question": "Publish to production?",
        "header": "Publish",
        "multiSelect": False,
        "options": options,
    }
    script: dict[str, Sequence[Turn]] = {
        "Release it": [
            bash("flow step release --format text"),
            call("AskUserQuestion", questions=[question]),
            bash("flow step release done --format text"),
            bash("flow step release ok --format text"),
            say("All is done now."),
        ]
    }

    with served(script) as model:
        at_its_terminal("Release it", model.address, question="2.No", done="Allisdonenow.")

    (session,) = told("sessions", "--all")["sessions"]
    shown = told("sessions", session["session"])
    assert (shown["status"], shown["history"][1]["note"]["way"]) == ("completed", "host")


def test_the_plugin_installs_from_a_clone_and_has_its_hooks_skills_and_agents() -> None:
    clone = Path.cwd().parent / "clone"
    for folder in (".claude-plugin", "plugins"):
        shutil.copytree(REPOSITORY / folder, clone / folder)

    assert "Validation passed" in claude("plugin", "validate", "--strict", str(clone))
    assert "Validation passed" in claude(
        "plugin", "validate", "--strict", str(clone / "plugins" / "flowrail")
    )
    claude("plugin", "marketplace", "add", str(clone))
    claude("plugin", "install", "flowrail@flowrail")

    details = claude("plugin", "details", "flowrail")
    assert "Hooks (7)" in details
    assert "Skills (14)" in details
    assert "Agents (3)" in details


def tool_results(messages: Messages) -> list[str]:
    """Return what the tools answered, in order."""
    blocks = [
        block for message in messages if isinstance(message["content"], list) for block in message["content"]
    ]
    return [text_of(block) for block in blocks if block["type"] == "tool_result"]
