"""Codex itself, with a scripted model, runs flowrail's hooks and respects their answers.

`nox -s hosts` installs the host. Without it, these tests are skipped.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.sandbox import flow, told
from support.scripted_model import bash, say, served, text_of

CODEX = shutil.which("codex")
SKILL = """\
---
name: release
description: Publish the shop. Use it before every push.
---

Begin with `flow step release`.
"""
WORKFLOW = """\
name: release
guards: {"Bash(git push*)": [publish]}
steps:
  - {id: verify, title: Verify, actions: ["Run the tests."], next: {ok: publish}}
  - {id: publish, title: Publish, actions: ["Push the branch."], next: {ok: null}}
"""
SETTINGS = """\
model_provider = "scripted"
[model_providers.scripted]
name = "scripted"
base_url = "ADDRESS/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
[projects."PROJECT"]
trust_level = "trusted"
"""

pytestmark = pytest.mark.skipif(CODEX is None, reason="Codex is not installed: nox -s hosts")


def codex(prompt: str, address: str) -> None:
    """Run Codex in the project, which its user trusts, with the project's hooks."""
    home = Path(os.environ["HOME"])
    settings = home / ".codex" / "config.toml"
    settings.parent.mkdir(exist_ok=True)
    text = SETTINGS.replace("ADDRESS", address).replace("PROJECT", str(Path.cwd().resolve()))
    settings.write_text(text, encoding="utf-8")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    (home / ".profile").write_text(f"PATH='{path}'\n", encoding="utf-8")  # its shells are login shells
    options = ["--skip-git-repo-check", "--dangerously-bypass-hook-trust", "--sandbox", "danger-full-access"]
    done = subprocess.run(
        [str(CODEX), "exec", *options, prompt],
        env={"HOME": str(home), "PATH": path, "SCRIPTED_KEY": "unused"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_guard_is_kept_and_the_agent_is_sent_back_until_its_workflow_has_ended() -> None:
    folder = Path(".agents/skills/release")
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL, encoding="utf-8")
    (folder / "workflow.yaml").write_text(WORKFLOW, encoding="utf-8")
    assert flow("setup", "--host", "codex").status == 0
    turns = [
        bash("git push --dry-run"),
        bash("flow step release"),
        say("Done."),
        bash("flow step release ok"),
        bash("git push --dry-run"),
        bash("flow step release ok"),
        say("Pushed."),
    ]

    with served({"Push it": turns}) as model:
        codex("Push it", model.address)

    messages = model.messages["Push it"]
    results = [text_of(message) for message in messages if message["type"] == "function_call_output"]
    assert "release: Publish the shop." in text_of(messages), "Codex lists the skill"
    assert "before it, run `flow step release`" in text_of(messages)
    assert "Skill `release` guards `Bash(git push*)`" in results[0]
    assert '<step_header id="verify"' in results[1]
    assert re.search(r"You are not finished: .*step 1 of 2.*flow resume release-", text_of(messages))
    assert "guards" not in results[3], "git itself answers, because the folder has no remote"
    (session,) = told("sessions", "--all")["sessions"]
    assert session["status"] == "completed"
    assert session["conversation"]
    judged = flow("conform", str(folder), str(Path(os.environ["HOME"], ".codex", "sessions")))
    assert judged.status == 0
    assert "Bash(git push*) only at publish: 1 kept, 0 broken, 0 unknown" in judged.out
