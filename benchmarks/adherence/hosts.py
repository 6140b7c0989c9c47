"""Run the tasks with a real host in all four arms, kill it twice, and grade the projects by scripts.

    python benchmarks/adherence/hosts.py claude --output benchmarks/adherence/host-results/claude.json
    python benchmarks/adherence/hosts.py stand-in --tasks handbook --arms text evidence --repeats 1

`experiment.yaml` says what is run and measured. A host runs without asking for permission: use a container or a machine
that you can lose. A file in `host-results` appears in the documentation after `python docs/pages.py`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from arms import ARMS, Project, Task, set_up, simulated_environment, task_named

HERE = Path(__file__).resolve().parent
EXPERIMENT = HERE / "experiment.yaml"
RECORDED = HERE / "host-results"
TRAP = "trap: "


class HostRun(NamedTuple):
    """One run of a task with a host in one arm, and its measures."""

    host: str
    experiment: str
    task: str
    arm: str
    repeat: int
    starts: int
    finished: bool
    points: dict[str, bool]
    seconds: float
    calls: int | None
    dollars: float | None

    @property
    def traps(self) -> dict[str, bool]:
        """The points that are traps."""
        return {point: has for point, has in self.points.items() if point.startswith(TRAP)}


class Start(NamedTuple):
    """How one start of the host ended: killed, timed out or by itself, and what it printed."""

    is_killed: bool
    status: int | None
    output: str


def run(name: str, experiment: Mapping[str, Any], task: Task, arm: str, repeat: int) -> HostRun:
    """Start the host, kill it at each share of the points, start it again, and grade the project."""
    host = experiment["hosts"][name]
    with tempfile.TemporaryDirectory(prefix="adherence") as folder:
        root = Path(folder).resolve()
        environment = simulated_environment(root) if name == "stand-in" else _own_environment()
        project = set_up(task, arm, root, environment, host=host["kind"])
        began = time.monotonic()
        end = began + experiment["minutes"] * 60
        kills: list[float | None] = [*experiment["kills"], None]
        starts, ended = 0, Start(False, None, "")
        for kill_at in kills:
            prompt = experiment["prompts"]["again" if starts else "first"]
            starts += 1
            ended = _start(_command(host["command"], prompt, task), project, task, kill_at, end, root)
            if not ended.is_killed:
                break
        points = task.grade(project.path)
    report = _report(ended.output)
    return HostRun(
        name,
        digest(),
        task.name,
        arm,
        repeat,
        starts,
        ended.status == 0,
        points,
        round(time.monotonic() - began, 1),
        report.get("num_turns"),
        report.get("total_cost_usd"),
    )


def _start(
    command: Sequence[str], project: Project, task: Task, kill_at: float | None, end: float, root: Path
) -> Start:
    """Start the host and wait until it ends, until it has reached a share of the points, or until the time is over."""
    nothing_done = sum(task.grade(task.folder / "project").values())
    with (root / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            command,
            cwd=project.path,
            env=project.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        is_killed = is_late = False
        while not is_killed and not is_late and process.poll() is None:
            points = task.grade(project.path)
            share = (sum(points.values()) - nothing_done) / (len(points) - nothing_done)
            is_killed = kill_at is not None and share >= kill_at
            is_late = time.monotonic() > end
            time.sleep(0.1)
        with suppress(ProcessLookupError):  # its children too, also if it has ended by itself
            os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
        output.seek(0)
        return Start(is_killed, None if is_killed or is_late else status, output.read())


def _command(template: Sequence[str], prompt: str, task: Task) -> list[str]:
    text = string.Template(prompt).substitute(skill=task.name, description=task.workflow["description"])
    values = {"prompt": text, "python": sys.executable, "here": str(HERE)}
    return [string.Template(word).substitute(values) for word in template]


def _own_environment() -> dict[str, str]:
    """Return the user's environment, which a host needs to log in, without the conversation that this may run in."""
    hidden = {"CLAUDECODE", "CLAUDE_CODE_SESSION_ID", "CODEX_THREAD_ID", "FLOW_STORE", "FLOW_HOST_SESSION"}
    return {name: value for name, value in os.environ.items() if name not in hidden}


def _report(output: str) -> dict[str, Any]:
    """Return the JSON document that a host printed last, if it did."""
    for line in reversed(output.splitlines()):
        try:
            document = json.loads(line)
        except ValueError:
            continue
        if isinstance(document, dict):
            return document
    return {}


def digest() -> str:
    """Return what identifies this version of the experiment."""
    return hashlib.sha256(EXPERIMENT.read_bytes()).hexdigest()[:12]


# --- tables


def load() -> list[HostRun]:
    """Return the runs that are recorded for the documentation."""
    files = sorted(RECORDED.glob("*.json"))
    return [HostRun(**row) for file in files for row in json.loads(file.read_text(encoding="utf-8"))]


def measures_table(runs: Sequence[HostRun]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each host, task and arm: the median of each measure over the repeats."""
    yield (
        "Host",
        "Experiment",
        "Task",
        "Arm",
        "Runs",
        "Points",
        "Traps",
        "Finished",
        "Calls",
        "Dollars",
        "Seconds",
    )
    for key in dict.fromkeys((run.host, run.experiment, run.task, run.arm) for run in runs):
        done = [run for run in runs if (run.host, run.experiment, run.task, run.arm) == key]
        host, experiment, task, arm = key
        points = _median([sum(run.points.values()) for run in done])
        traps = _median([sum(run.traps.values()) for run in done])
        yield (
            host,
            experiment,
            task,
            ARMS[arm],
            str(len(done)),
            f"{points} of {len(done[0].points)}",
            f"{traps} of {len(done[0].traps)}",
            f"{sum(run.finished for run in done)} of {len(done)}",
            _median([run.calls for run in done]),
            _median([run.dollars for run in done]),
            _median([run.seconds for run in done]),
        )


def _median(values: Sequence[float | None]) -> str:
    known = sorted(value for value in values if value is not None)
    return f"{known[len(known) // 2]:g}" if known else "-"


def main() -> int:
    """Run what the command line says."""
    experiment = yaml.safe_load(EXPERIMENT.read_text(encoding="utf-8"))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("host", choices=list(experiment["hosts"]))
    parser.add_argument("--tasks", nargs="+", choices=experiment["tasks"], default=experiment["tasks"])
    parser.add_argument("--arms", nargs="+", choices=experiment["arms"], default=experiment["arms"])
    parser.add_argument("--repeats", type=int, default=experiment["repeats"])
    parser.add_argument(
        "--no-kills", action="store_true", help="let the host work undisturbed, to try a task"
    )
    parser.add_argument("--output", type=Path, help="the file for the results")
    words = parser.parse_args()
    if words.no_kills and words.output and RECORDED in words.output.resolve().parents:
        parser.error("results without kills are not part of the experiment; use another --output")
    experiment = {**experiment, "kills": [] if words.no_kills else experiment["kills"]}
    runs: list[HostRun] = []
    for repeat in range(words.repeats):
        for name in words.tasks:
            for arm in words.arms:
                done = run(words.host, experiment, task_named(name), arm, repeat)
                runs.append(done)
                missing = [point for point, has in done.points.items() if not has]
                print(f"{name}, {ARMS[arm]}: {done.starts} starts, missing: {missing}", flush=True)
                if words.output:
                    words.output.parent.mkdir(parents=True, exist_ok=True)
                    rows = ",\n".join(json.dumps(run._asdict()) for run in runs)
                    words.output.write_text(f"[\n{rows}\n]\n", encoding="utf-8")
    for row in measures_table(runs):
        print(" | ".join(row))
    return 0


if __name__ == "__main__":
    sys.exit(main())
