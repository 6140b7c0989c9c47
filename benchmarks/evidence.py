"""Measure a report with ten file checks, and `flow run` of the command `true`, compared with a report, as processes.

Run: python benchmarks/evidence.py [ROUNDS]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from timing import best_of, report
from user import User, user_at

CHECKS = [
    {"id": f"part{number}", "file": f"part{number}.md", "min_bytes": 10, "contains": ["## Findings"]}
    for number in range(10)
]
WORKFLOW = """\
name: NAME
steps:
  - {id: build, title: Build, actions: [Build it.], evidence: EVIDENCE, commands: COMMANDS, next: {iterate: build, ok: null}}
"""
AIMS = {"ten file checks": 1.3, "flow run true": 1.5}


def main(rounds: int = 15) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        user = user_at(folder)
        project = Path(folder) / "project"
        for check in CHECKS:
            path = project / str(check["file"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("## Findings\n" + "text\n" * 1_000)
        (project / ".git").mkdir()
        contestants = {
            "no evidence": _reporting(user, project, "plain", {}),
            "ten file checks": _reporting(user, project, "proven", {"iterate": CHECKS}),
            "flow run true": _running(user, project, "runs"),
        }
        best = best_of(contestants, rounds=rounds)
    report("A report, as a process", best, "no evidence", AIMS)


def _reporting(user: User, project: Path, name: str, evidence: object) -> Callable[[], object]:
    """Return a function that reports `iterate` for the only step of a new skill."""
    session = _session(user, project, name, evidence, {})
    return lambda: _run(user, project, "step", name, "iterate", "--session", session)


def _running(user: User, project: Path, name: str) -> Callable[[], object]:
    """Return a function that runs the command `true` of the only step of a new, approved skill."""
    session = _session(user, project, name, {}, {"nothing": {"run": ["true"]}})
    refusal = subprocess.run(
        [user.flow, "trust", name, "--json"],
        cwd=project,
        env=user.environment,
        capture_output=True,
        check=False,
    )
    _run(user, project, "trust", name, "--digest", json.loads(refusal.stdout)["error"]["details"]["digest"])
    return lambda: _run(user, project, "run", "nothing", "--session", session)


def _session(user: User, project: Path, name: str, evidence: object, commands: object) -> str:
    """Write a skill and start a session of it."""
    skill = project / ".claude" / "skills" / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Measures.\n---\n")
    text = WORKFLOW.replace("NAME", name).replace("EVIDENCE", json.dumps(evidence))
    (skill / "workflow.yaml").write_text(text.replace("COMMANDS", json.dumps(commands)))
    return str(json.loads(_run(user, project, "step", name, "--new", "--json"))["session"])


def _run(user: User, project: Path, *words: str) -> str:
    return subprocess.run(
        [user.flow, *words], cwd=project, env=user.environment, capture_output=True, text=True, check=True
    ).stdout


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
