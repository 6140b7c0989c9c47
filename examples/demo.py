"""Step one skill from start to end, as an agent would: each command was printed by the previous answer.

Runs the installed `flow` in a temporary project, so it leaves nothing behind.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

SKILL = "problem-analysis"
REPORTED = ["low", "medium", "high"]
"""What the demo's agent reports as its confidence, attempt by attempt."""
LINES = 7


def main() -> int:
    """Run the demo and return its exit status."""
    with tempfile.TemporaryDirectory(prefix="flowrail demo ") as folder:
        project = Path(folder)
        environment = {**os.environ, "XDG_STATE_HOME": str(project / "state"), "HOME": str(project)}
        environment["PATH"] = (
            f"{Path(sys.executable).parent}{os.pathsep}{environment.get('PATH', os.defpath)}"
        )
        environment.pop("FLOW_STORE", None)

        def flow(command: str) -> str:
            done = subprocess.run(
                shlex.split(command),
                cwd=project,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                sys.exit(f"{command}\n{done.stdout}{done.stderr}")
            return done.stdout

        print(f"A new project in {project}, and an agent that has to find out why the login is slow.\n")
        walk(flow)
    return 0


def walk(flow) -> None:  # type: ignore[no-untyped-def]
    """Follow the printed commands from the first step to the end, and say so."""
    command = f"flow step {SKILL} -p topic='slow login'"
    confidence = iter(REPORTED)
    answer: dict[str, object] = {}
    while command:
        print(f"$ {command}")
        answer = json.loads(flow(f"{command} --json"))
        tell(answer)
        command = choose(answer, confidence)
    session = str(answer["session"])
    print(f"\n$ flow history {session}\n{indented(flow(f'flow history {session}'))}")
    print(
        f"The session is in .flow/sessions/{session}/: journal.jsonl is the truth, session.json a readable copy."
    )
    print(f"\n$ flow diagram {SKILL}\n{indented(flow(f'flow diagram {SKILL}'))}")


def tell(answer: dict) -> None:  # type: ignore[type-arg]
    """Print what the agent reads; long texts are cut."""
    step = answer["step"]
    if step is None:
        print(indented("\n".join(answer["actions"])))
        return
    visit = f", visit {step['visit']} of {step['limit']}" if step["limit"] else ""
    print(f"    Step {step['number']} of {step['total']}: {step['title']} ({step['phase']}{visit})")
    lines = "\n\n".join(answer["actions"]).splitlines()
    shown = "\n".join(lines[:LINES])
    print(indented(shown) + (f"\n    … {len(lines) - LINES} more lines" if len(lines) > LINES else ""))
    for way in answer["next"]:
        facts = "".join(f" {name}={value}" for name, value in way["facts"].items())
        print(f"    {way['outcome']}{facts} leads to {way['to'] or 'the end'}")
    print()


def choose(answer: dict, confidence) -> str:  # type: ignore[no-untyped-def, type-arg]
    """Return the command of the outcome that the demo's agent reports, or nothing at the end."""
    ways = answer["next"]
    if not ways:
        return ""
    if len(ways) == 1:
        return str(ways[0]["command"])
    reported = next(confidence, "high")
    print(f"    (the agent investigates, and reports the confidence {reported})\n")
    return next(str(way["command"]) for way in ways if way["facts"].get("confidence") == reported)


def indented(text: str) -> str:
    """Return *text* indented by four spaces, long lines cut."""
    return "\n".join(f"    {line[:150]}" for line in text.splitlines())


if __name__ == "__main__":
    sys.exit(main())
