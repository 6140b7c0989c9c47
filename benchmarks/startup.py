"""Measure `flow step`, `flow list` and `flow --help` as processes, compared with a bare interpreter.

Run: python benchmarks/startup.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import best_of, report
from user import user_at

AIMS = {"flow step": 7.5, "flow --help": 3.5, "flow list": 10}
ENGINE = "from statemachine import StateChart"


def main(rounds: int = 20) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        environment, flow = user_at(folder)
        project = Path(folder) / "project"
        (project / ".git").mkdir(parents=True)

        def run(*command: str) -> str:
            return subprocess.run(
                command, cwd=project, env=environment, check=True, capture_output=True, text=True
            ).stdout

        commands = iter(_commands(run, flow, rounds))
        best = best_of(
            {
                "python -c pass": lambda: run(sys.executable, "-c", "pass"),
                "flow --help": lambda: run(flow, "--help"),
                "flow list": lambda: run(flow, "list"),
                "flow step": lambda: run(*next(commands)),
                "engine alone": lambda: run(sys.executable, "-c", ENGINE),
                "engine, click, cattrs": lambda: run(sys.executable, "-c", f"{ENGINE}; import click, cattrs"),
                "everything, eagerly": lambda: run(
                    sys.executable,
                    "-c",
                    f"{ENGINE}; import click, cattrs, pydantic, yaml, flowrail.machines.reader",
                ),
            },
            rounds=rounds,
        )
    report("A process, compared with the bare interpreter", best, "python -c pass", AIMS)


def _commands(run: object, flow: str, rounds: int) -> list[list[str]]:
    """Return a report for each round, each for a session of its own."""
    assert callable(run)
    commands = []
    for _ in range(rounds):
        answer = json.loads(run(flow, "step", "decision-critic", "--new", "--json"))
        commands.append([flow, *answer["next"][0]["command"].split()[1:]])
    return commands


if __name__ == "__main__":
    main()
