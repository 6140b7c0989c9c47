"""Measure a step over the Model Context Protocol, compared with a step as a process.

Run: python benchmarks/serving.py     (needs the extra `mcp`)
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from typing import Any

from anyio.from_thread import start_blocking_portal
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from timing import best_of, report
from user import SKILL, project_at, user_at

AIMS = {"step, a tool of the server": 0.1}


def main(rounds: int = 20) -> None:
    """Print the ratios."""
    with tempfile.TemporaryDirectory() as folder:
        environment, flow = user_at(folder)
        project = project_at(folder)

        def run(*words: str) -> Any:
            command = [flow, *words, "--json"]
            done = subprocess.run(
                command, cwd=project, env=environment, check=True, capture_output=True, text=True
            )
            return json.loads(done.stdout)

        server = StdioServerParameters(command=flow, args=["mcp"], env=environment, cwd=str(project))
        with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:

            def call(tool: str, **arguments: Any) -> Any:
                result = portal.call(client.call_tool, tool, arguments)
                assert not result.is_error, result
                return result.structured_content

            started = [run("step", SKILL, "--new", "-p", "version=1.2") for _ in range(rounds * 2)]
            commands = iter([step["next"][0]["command"] for step in started[rounds:]])
            sessions = [step["session"] for step in started[:rounds]]
            unreported = iter(sessions)
            best = best_of(
                {
                    "step, a process": lambda: run(*next(commands).split()[1:]),
                    "step, a tool of the server": lambda: call(
                        "step", skill=SKILL, outcome="ok", session=next(unreported), expect=0
                    ),
                    "step, shown without a report": lambda: call("step", session=sessions[0]),
                },
                rounds=rounds,
            )
    report("A report, compared with a process", best, "step, a process", AIMS)


if __name__ == "__main__":
    main()
