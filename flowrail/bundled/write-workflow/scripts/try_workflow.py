"""Check what an agent claims about a skill that it wrote, as the steps of the skill write-workflow demand.

    try_workflow.py check -- NAME NOTES COUNT   check and test the skill, and compare it with the notes of the interview
    try_workflow.py fakes -- NAME NOTES         show which steps refused a report in the copy of the project
    try_workflow.py trial -- NAME NOTES         show the trial run in that copy, which must have ended

NOTES is the file with the notes of the session; the copy of the project is the folder `scratch` beside it. COUNT is how
many irreversible commands the interview found. Exit status: 0 if everything holds, otherwise 1. The workflow's own
commands are not run. Needs Python 3.9 or later.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

PATTERN = re.compile(r"`([\w-]+\([^`]+\))`")
FOUND = {"check": "clean", "fakes": "attacked", "trial": "tried"}
CHECKED = {"evidence", "questions", "gate", "commands", "dispatch"}
"""The keys of a step that make flowrail check something, or ask somebody."""
ENDED = ("completed", "failed", "abandoned")


def run_flow(*words: str, folder: Path | None = None) -> tuple[int, str]:
    """Run flow in *folder* and return its exit status and what it printed."""
    program = shutil.which("flow")
    flow = [program] if program else [sys.executable, "-m", "flowrail"]
    ran = subprocess.run(
        [*flow, *words], cwd=folder, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return ran.returncode, ran.stdout


def read_json(*words: str, folder: Path | None = None) -> dict[str, Any]:
    """Return what flow prints as JSON."""
    status, out = run_flow(*words, "--json", folder=folder)
    if status:
        sys.exit(f"flow {' '.join(words)} does not run:\n{out}")
    found: dict[str, Any] = json.loads(out)
    return found


def section_of(notes: Path, heading: str) -> list[str]:
    """Return the lines of a section of the notes."""
    text = notes.read_text(encoding="utf-8") if notes.exists() else ""
    lines = f"\n{text}".partition(f"\n{heading}\n")[2].splitlines()
    end = next((at for at, line in enumerate(lines) if re.match(r"#{1,2} ", line)), len(lines))
    return lines[:end]


def workflows_of(name: str, folder: Path | None = None) -> list[dict[str, Any]]:
    """Return the entry workflow of a skill, then its other workflows."""
    shown = read_json("show", name, folder=folder)
    others = [read_json("show", other, folder=folder) for other in shown["workflows"]]
    return [each["workflow"] for each in (shown, *others)]


def check(name: str, notes: Path, count: str) -> list[str]:
    """Return the faults of the skill: findings, demands without a step, irreversible commands without a guard."""
    for words in (["check", name, "--strict"], ["test", name]):
        status, out = run_flow(*words)
        print(f"$ flow {' '.join(words)}\n{out}")
        if status:
            return [f"`flow {' '.join(words)}` is not clean"]
    workflows = workflows_of(name)
    rules = " ".join(rule for each in workflows for rule in [*each.get("guards", ()), *each.get("order", ())])
    patterns = PATTERN.findall("\n".join(section_of(notes, "## Irreversible")))
    faults = [f"no guard and no order rule names `{found}`" for found in patterns if found not in rules]
    if len(set(patterns)) < int(count):
        faults.append(
            f"`## Irreversible` has {len(set(patterns))} patterns such as `Bash(git push*)`, not {count}"
        )
    checked = {step["id"] for each in workflows for step in each["steps"] if CHECKED & {*step}}
    unmapped = [
        found[1]
        for line in section_of(notes, "## Mapping")
        if (found := re.match(r"\W*(P\d+)\b", line))
        and "not checkable" not in line
        and not checked & set(re.findall(r"[\w-]+", line))
    ]
    if unmapped:
        faults.append(
            f"`## Mapping` must name for {', '.join(unmapped)} a step that flowrail checks "
            f'({", ".join(sorted(checked))}), or say "not checkable: why"'
        )
    return faults


def fakes(name: str, notes: Path) -> list[str]:
    """Return the steps with evidence that refused no report, unless the notes say why they were not reached."""
    scratch = notes.parent / "scratch"
    if not (scratch / ".flow").is_dir():
        return [f"`{scratch}` has no folder `.flow`: copy the project there and create it"]
    workflows = workflows_of(name, scratch)
    demanding = [step["id"] for each in workflows for step in each["steps"] if step.get("evidence")]
    events = [event for session in sessions_of(name, scratch) for event in session["events"]]
    refused = {event["step"] for event in events if event["kind"] == "refused"}
    unreached = " ".join(line for line in section_of(notes, "## Fakes") if "Not reached" in line)
    print(
        f"Refused a fake: {sum(step in refused for step in demanding)} of {len(demanding)} steps with evidence"
    )
    return [
        f"step `{step}` refused no report, and no line of `## Fakes` says `Not reached: {step}, because …`"
        for step in demanding
        if step not in refused and not re.search(rf"(?<![\w-]){re.escape(step)}(?![\w-])", unreached)
    ]


def trial(name: str, notes: Path) -> list[str]:
    """Return what is wrong with the trial run: the newest session of the skill since the trial step began."""
    session = notes.parent.parent
    own = read_json("sessions", session.name, "--store", str(session.parents[1]))
    scratch = notes.parent / "scratch"
    runs = [run for run in sessions_of(name, scratch) if run["skill"] == name]
    since = [run for run in runs if run["events"][0]["at"] > own["moved_at"]]
    if not since:
        return [f"no session of `{name}` began in `{scratch}` since this step was entered"]
    newest = max(since, key=lambda run: str(run["events"][0]["at"]))
    print(f"Trial: {newest['session']}, {newest['status']} after {newest['revision']} moves")
    if newest["status"] not in ENDED:
        return [
            f"session `{newest['session']}` is {newest['status']}: end it, or run `flow session abandon` with the reason"
        ]
    return [] if newest["events"][1:-1] else [f"nobody reported a step of session `{newest['session']}`"]


def sessions_of(name: str, scratch: Path) -> list[dict[str, Any]]:
    """Return the sessions of the skill and of its sub-agents in the copy of the project."""
    store = scratch / ".flow"
    found = read_json("audit", "--store", str(store), folder=scratch)["sessions"] if store.is_dir() else []
    return [session for session in found if session["skill"].partition("/")[0] == name]


def main() -> int:
    """Run one check, print its faults, and return the exit status."""
    mode, _, name, notes, *more = sys.argv[1:]
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{0,59}", name):
        sys.exit(f"`{name[:80]}` is not the name of a skill: use lower-case letters, digits and hyphens")
    path = Path(notes).absolute()
    if mode == "check":
        faults = check(name, path, *more)
    elif mode == "fakes":
        faults = fakes(name, path)
    else:
        faults = trial(name, path)
    print("\n".join(faults) or f"{name} is {FOUND[mode]}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
