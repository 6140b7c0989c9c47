"""Measure commands as processes, compared with interpreters that import the same libraries and nothing of flowrail.

Run: python benchmarks/startup.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile

from timing import best_of, report
from user import SKILL, project_at, user_at

LIBRARIES = "from statemachine import StateChart; import click, cattrs"
WITH_PYDANTIC = f"{LIBRARIES}, pydantic"
CLICK, STEP, READ = "click", "click, cattrs and the engine", "the same and pydantic"
AIMS = {
    CLICK: {"flow --help": 1.3},
    STEP: {"flow step": 1.8},
    READ: {"flow list": 2, "flow check SKILL": 2},
}
"""For each interpreter, the commands that are compared with it, and how many times as long each takes at most."""


def main(rounds: int = 20) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        environment, flow = user_at(folder)
        project = project_at(folder)

        def run(*command: str) -> str:
            return subprocess.run(
                command, cwd=project, env=environment, check=True, capture_output=True, text=True
            ).stdout

        commands = iter(_commands(run, flow, rounds))
        best = best_of(
            {
                CLICK: lambda: run(sys.executable, "-c", "import click"),
                STEP: lambda: run(sys.executable, "-c", LIBRARIES),
                READ: lambda: run(sys.executable, "-c", WITH_PYDANTIC),
                "flow --help": lambda: run(flow, "--help"),
                "flow step": lambda: run(*next(commands)),
                "flow list": lambda: run(flow, "list"),
                "flow check SKILL": lambda: run(flow, "check", SKILL),
            },
            rounds=rounds,
        )
    for base, aims in AIMS.items():
        shown = {name: seconds for name, seconds in best.items() if name in {base, *aims}}
        report(f"A process, compared with {base}", shown, base, aims)


def _commands(run: object, flow: str, rounds: int) -> list[list[str]]:
    """Return a report for each round, each for a session of its own."""
    assert callable(run)
    commands = []
    for _ in range(rounds):
        answer = json.loads(run(flow, "step", SKILL, "--new", "-p", "version=1.2", "--json"))
        commands.append([flow, *answer["next"][0]["command"].split()[1:]])
    return commands


if __name__ == "__main__":
    main()
