"""Measure hooks, compared with a bare interpreter: without an answer at most 3 times as long, with a denial at most 5 times.

The folder contains a hundred sessions. Most of them have ended, one belongs to another conversation, and one to this
conversation: its step forbids a tool, and its skill guards a command and orders calls. Most calls are none of these.

Run: python benchmarks/hooks.py
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from timing import best_of, report
from user import user_at

MOST_TIMES, MOST_FOR_A_DENIAL = 3.0, 5.0
DENIAL, FORBIDDEN = "pre-tool-use, denied by a guard", "pre-tool-use, forbidden by the own step"
"""The second reads a session from its store before it denies the call."""
EVENTS = ("session-start", "session-end", "stop", "subagent-stop", "pre-tool-use", "post-tool-use")
SKILL = """\
name: strict
guards: {"Bash(git push*)": []}
order: ['"Bash(make test*)" before each "Bash(make release*)"']
steps:
  - {id: first, title: First, actions: [Do.], forbids: ["Bash(rm*)"], next: {ok: null}}
"""


def main(rounds: int = 15) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        environment, flow = user_at(folder)
        project, empty = Path(folder, "project"), Path(folder, "empty")
        for path in (project, empty):
            (path / ".git").mkdir(parents=True)

        def run(*command: str, said: str = "", cwd: Path = project, host: str = "another") -> str:
            env = {**environment, "CLAUDE_CODE_SESSION_ID": host}
            done = subprocess.run(
                command, cwd=cwd, env=env, input=said, check=True, capture_output=True, text=True
            )
            return done.stdout

        def hook(event: str, cwd: Path, host: str = "this", command: str = "git status") -> Callable[[], str]:
            tool = {"tool_name": "Bash", "tool_input": {"command": command}, "tool_response": {"stdout": ""}}
            said = json.dumps({"session_id": host, "cwd": str(cwd), **tool})
            return lambda: run(flow, "hook", event, said=said, cwd=cwd)

        _fill(project, run, flow)
        contestants: dict[str, Callable[[], object]] = {
            "python -c pass": lambda: run(sys.executable, "-c", "pass")
        }
        contestants |= {f"{event}, no sessions": hook(event, empty) for event in EVENTS}
        contestants |= {f"{event}, 100 sessions": hook(event, project) for event in EVENTS[1:]}
        for event in ("pre-tool-use", "post-tool-use"):
            contestants[f"{event}, own step"] = hook(event, project, "own")
            contestants[f"{event}, own step, flow"] = hook(event, project, "own", "flow step strict ok")
        hook("pre-tool-use", project)()  # makes the index of guards
        hook("pre-tool-use", empty)()
        assert all(
            json.loads(str(call())) == {} for name, call in contestants.items() if name != "python -c pass"
        )
        denials = {
            DENIAL: hook("pre-tool-use", project, command="git push"),
            FORBIDDEN: hook("pre-tool-use", project, "own", "rm -r build"),
        }
        assert all("deny" in call() for call in denials.values())
        best = best_of(contestants | denials, rounds=rounds)
    aims = dict.fromkeys(contestants, MOST_TIMES) | {DENIAL: MOST_FOR_A_DENIAL}
    report("A hook, compared with the bare interpreter", best, "python -c pass", aims)


def _fill(project: Path, run: Callable[..., str], flow: str) -> None:
    skill = project / ".claude" / "skills" / "strict"
    skill.mkdir(parents=True)
    (skill / "workflow.yaml").write_text(SKILL)
    (skill / "SKILL.md").write_text("---\nname: strict\ndescription: Is strict.\n---\n")
    ended = json.loads(run(flow, "step", "problem-analysis", "--new", "--json"))["session"]
    run(flow, "session", "abandon", ended)
    sessions = project / ".flow" / "sessions"
    for number in range(97):
        shutil.copytree(sessions / ended, sessions / f"{ended[:-4]}{number:04}")
    run(flow, "step", "problem-analysis", "--new")
    run(flow, "step", "strict", "--new", host="own")


if __name__ == "__main__":
    main()
