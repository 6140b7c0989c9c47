"""A repository with a skill that demands evidence, and the verdicts of its checks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support import skills
from support.sandbox import allow, flow, put_skill

WORKFLOW = """\
name: NAME
steps:
  - id: build
    title: Build
    actions: [Build it.]
    commands: COMMANDS
    evidence: {ok: CHECKS}
    next: {ok: tell, fail: null}
  - {id: tell, title: Tell, actions: [Tell it.], next: {ok: null, iterate: build}}
"""


def git(*words: str, folder: Path | None = None) -> str:
    """Run git and return what it prints."""
    return skills.git(folder or Path.cwd(), *words)


def repository() -> None:
    """Turn the current folder into a repository with one committed file, `src/a.py`."""
    Path(".git").rmdir()
    write("src/a.py", "a = 1\n")
    write(".gitignore", ".claude\n")
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "begin")


def write(path: str, text: str) -> Path:
    """Write a file with its folders."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def demand(
    *checks: Mapping[str, object], name: str = "built", commands: Mapping[str, object] | None = None
) -> None:
    """Write a skill whose step `build` declares *commands*, and demands *checks* for `ok`."""
    text = WORKFLOW.replace("CHECKS", json.dumps(checks)).replace("COMMANDS", json.dumps(commands or {}))
    put_skill(name, text)


def begin(name: str = "built") -> str:
    """Start a session and return its id."""
    started = flow("step", name, "--new", "--json")
    assert started.status == 0, started
    return str(started.data["session"])


def report(session: str, outcome: str = "ok", *words: str, name: str = "built") -> dict[str, str]:
    """Report an outcome, and return the verdict of each missing check. It is empty if the report was accepted."""
    ran = flow("step", name, outcome, "--session", session, *words, "--json")
    if ran.status == 0:
        return {}
    assert ran.error["code"] == "EVIDENCE_MISSING", ran
    assert ran.status == 4
    missing: list[dict[str, Any]] = ran.error["details"]["missing"]
    return {str(check["check"]): str(check["verdict"]) for check in missing}


def allow_commands(name: str = "built") -> None:
    """Approve the commands of a skill."""
    allow(name)
