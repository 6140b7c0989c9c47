"""The user whose commands are measured: an environment with its own home, the installed command, and a skill."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

SKILL = "release"
WORKFLOW = """\
name: release
description: Releases a version.
params: {version: {required: true}}
steps:
  - id: changelog
    title: Write the changelog
    actions: [List what a user of $version notices., "Group it: added, changed, fixed.", Leave out what nobody notices.]
    next: {ok: tests}
  - {id: tests, title: Run the tests, actions: [Run all tests.], next: {ok: build, fail: changelog}, limit: 3}
  - {id: build, title: Build, actions: [Build the packages of $version.], next: {ok: publish, fail: tests}, limit: 3}
  - {id: publish, title: Publish, actions: [Publish $version.], next: {ok: null}}
"""


class User(NamedTuple):
    """An environment and the path of `flow`."""

    environment: dict[str, str]
    flow: str


def user_at(folder: str) -> User:
    """Return a user whose home is *folder*."""
    environment = {**os.environ, "HOME": folder, "XDG_STATE_HOME": f"{folder}/state"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # after the first call, users have bytecode
    return User(environment, str(Path(sys.executable).parent / "flow"))


def project_at(folder: str) -> Path:
    """Return a project with the skill `SKILL`, whose steps demand no evidence."""
    project = Path(folder) / "project"
    skill = project / ".claude" / "skills" / SKILL
    skill.mkdir(parents=True)
    (project / ".git").mkdir()
    (skill / "workflow.yaml").write_text(WORKFLOW)
    (skill / "SKILL.md").write_text(
        "---\nname: release\ndescription: Releases a version.\n---\nRun `flow step release`.\n"
    )
    return project
