"""Fault injection: which mistakes of an agent get through a skill text, steps, hooks, and evidence.

Run all (about 15 minutes on two cores), write results.json, print the table:    python benchmarks/adherence/inject.py
Compare a few runs with results.json:                                python benchmarks/adherence/inject.py --check
Compare those of one agent:                              python benchmarks/adherence/inject.py Races --check
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from agents import AGENTS, Diligent, NeverStarts
from arms import (
    ARMS,
    EVIDENCE,
    GUARDS,
    HOOKS,
    STEPS,
    TEXT,
    Task,
    set_up,
    simulated_environment,
    task_named,
    task_names,
)
from guides import guide_for
from host import Host

RESULTS = Path(__file__).parent / "results.json"
TASK = "release"
SEEDS = 8
#: The small form: for each layer a mistake that it catches, and one that it misses.
SAMPLE = (
    ("Lies", TEXT, 0),
    ("Races", STEPS, 0),
    ("StopsEarly", HOOKS, 0),
    ("Lies", EVIDENCE, 0),
    ("NeverStarts", GUARDS, 0),
)
#: Small changes of texts are accepted.
BYTES_TOLERANCE = 0.2


class Run(NamedTuple):
    """One run of one agent in one arm: what is wrong in the project afterwards, and what the run took."""

    agent: str
    arm: str
    seed: int
    mistake: str
    defects: tuple[str, ...]
    asks_user: bool
    refused: int
    calls: int
    hook_calls: int
    bytes: int
    broken: tuple[str, ...] = ()
    """The order rules that the transcript of the run breaks."""
    task: str = TASK

    @property
    def gets_through(self) -> bool:
        """Whether something is wrong in the project, and the agent has ended without asking the user."""
        return bool(self.defects) and not self.asks_user


def run(agent: type[Diligent], arm: str, seed: int, name: str = TASK) -> Run:
    """Let an agent carry out a task in a new project, and grade the project."""
    task = task_named(name)
    with tempfile.TemporaryDirectory(prefix="adherence") as folder:
        root = Path(folder).resolve()
        project = set_up(task, arm, root, simulated_environment(root))
        host = Host(project, f"conversation-{seed}")
        acting = agent(task, host, guide_for(arm, task, host), seed)
        acting.run()
        points = task.grade(project.path)
        broken = _broken_rules(task, host, root)
    defects = tuple(point for point, has in points.items() if not has)
    return Run(
        agent.__name__,
        arm,
        seed,
        acting.mistake,
        defects,
        acting.asks_user,
        host.refused,
        host.calls,
        host.hook_calls,
        host.bytes,
        broken,
        name,
    )


def _broken_rules(task: Task, host: Host, folder: Path) -> tuple[str, ...]:
    """Return the order rules that `flow conform` finds broken in the calls of a run."""
    path = folder / "transcript.jsonl"
    path.write_text("".join(f"{json.dumps(call)}\n" for call in host.transcript), encoding="utf-8")
    skill = shutil.copytree(task.folder / "skill", folder / "judge" / task.name)
    words = ["flow", "conform", str(skill), str(path), "--json"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=host.environment)
    (judged,) = json.loads(done.stdout)["runs"]
    return tuple(
        rule["rule"] for rule in judged["rules"] if rule["verdict"] == "broken" and rule["rule"] in task.rules
    )


def run_all(names: Sequence[str], arms: Sequence[str]) -> Iterator[Run]:
    """Run the agents with all seeds in these arms; the diligent agent needs no seeds, and few agents meet guards.

    With guards, the diligent agent carries out all tasks.
    """
    jobs: list[tuple[type[Diligent], str, int, str]] = [
        (agent, arm, seed, TASK)
        for agent in AGENTS
        if not names or agent.__name__ in names
        for seed in range(1 if agent is Diligent else SEEDS)
        for arm in arms
        if arm != GUARDS or agent in {Diligent, NeverStarts}
    ]
    if GUARDS in arms and (not names or Diligent.__name__ in names):
        jobs += [(Diligent, GUARDS, 0, name) for name in task_names() if name != TASK]
    with ThreadPoolExecutor(2) as pool:
        for number, done in enumerate(pool.map(lambda job: run(*job), jobs), 1):
            print(f"\r{number} of {len(jobs)} runs", end="", file=sys.stderr, flush=True)
            yield done
    print(file=sys.stderr)


def load() -> list[Run]:
    """Return the recorded runs."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))
    return [Run(**{**row, "defects": tuple(row["defects"]), "broken": tuple(row["broken"])}) for row in rows]


def save(runs: Iterable[Run]) -> None:
    """Record runs, one a line."""
    lines = ",\n".join(json.dumps(run._asdict()) for run in runs)
    RESULTS.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def check(names: Sequence[str]) -> int:
    """Repeat a few recorded runs, of these agents or of all, and report every difference."""
    recorded = {(run.agent, run.arm, run.seed): run for run in load() if run.task == TASK}
    agents = {agent.__name__: agent for agent in AGENTS}
    sample = [job for job in SAMPLE if not names or job[0] in names]
    status = 0
    with ThreadPoolExecutor(2) as pool:
        repeated = list(pool.map(lambda job: run(agents[job[0]], *job[1:]), sample))
    for job, new in zip(sample, repeated, strict=True):
        old = recorded[job]
        is_close = abs(new.bytes - old.bytes) <= BYTES_TOLERANCE * old.bytes
        if new._replace(bytes=0) != old._replace(bytes=0) or not is_close:
            print(f"recorded: {old}\nnow:      {new}", file=sys.stderr)
            status = 1
    if status:
        print("run: python benchmarks/adherence/inject.py, and python docs/pages.py", file=sys.stderr)
    return status


# --- tables


def mistakes_table(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each bad agent: the number of runs with its mistake in the result, by arm."""
    yield ("Agent", *ARMS.values())
    for agent in AGENTS[1:]:
        cells = []
        for arm in ARMS:
            done = [run for run in runs if (run.agent, run.arm) == (agent.__name__, arm)]
            asking = sum(run.asks_user for run in done)
            more = f" ({asking} ask the user)" if asking else ""
            cells.append(f"{sum(run.gets_through for run in done)} of {len(done)}{more}" if done else "")
        yield (agent.label, *cells)


def overhead_table(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield the cost of the diligent agent's run in each arm."""
    yield ("Arm", "Tool calls", "kB in the context", "Calls of hooks")
    for arm, title in ARMS.items():
        (done,) = (run for run in runs if (run.agent, run.arm, run.task) == (Diligent.__name__, arm, TASK))
        yield title, str(done.calls), f"{done.bytes / 1000:.1f}", str(done.hook_calls)


def clean_table(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield what guards and order rules deny an agent that makes no mistake, for each task."""
    yield ("Task", "Guards", "Order rules", "Tool calls", "Calls of hooks", "Denied or refused", "Defects")
    for done in (run for run in runs if (run.agent, run.arm) == (Diligent.__name__, GUARDS)):
        workflow = task_named(done.task).workflow
        yield (
            f"`{done.task}`",
            str(len(workflow["guards"])),
            str(len(workflow["order"])),
            str(done.calls),
            str(done.hook_calls),
            str(done.refused),
            str(len(done.defects)),
        )


def forgeries_table(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield each forgery, and whether hooks and evidence miss it."""
    yield ("Step", "Instead of the work", ARMS[HOOKS], ARMS[EVIDENCE])
    forged = {(run.mistake, run.arm): _ending(run) for run in runs if run.agent == "Forges"}
    for mistake in dict.fromkeys(mistake for mistake, _ in forged):
        step, _, kind = mistake.partition(", ")
        yield f"`{step}`", kind, forged[mistake, HOOKS], forged[mistake, EVIDENCE]


def rules_table(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Yield, for each order rule, how many of the runs with a skill text alone it finds, and how many it wrongly refuses."""
    yield ("Rule", "Runs with the defect", "Found", "Runs without a defect", "Wrongly refused")
    done = [run for run in runs if run.arm == TEXT]
    clean = [run for run in done if not run.defects]
    for rule, point in task_named(TASK).rules.items():
        wrong = [run for run in done if point in run.defects]
        found = sum(rule in run.broken for run in wrong)
        yield (
            f"`{rule}`",
            str(len(wrong)),
            str(found),
            str(len(clean)),
            str(sum(rule in run.broken for run in clean)),
        )
    wrong = [run for run in done if set(run.defects) & set(task_named(TASK).rules.values())]
    found, refused = (sum(bool(run.broken) for run in some) for some in (wrong, clean))
    yield "any of them", str(len(wrong)), str(found), str(len(clean)), str(refused)


def _ending(run: Run) -> str:
    if run.asks_user:
        return "caught later: the user is asked"
    return "gets through" if run.gets_through else "caught"


def main() -> int:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "agents", nargs="*", help="only these agents, such as Lies; the records of the others stay"
    )
    parser.add_argument("--arms", nargs="+", choices=list(ARMS), default=list(ARMS), help="only these arms")
    parser.add_argument("--check", action="store_true", help="compare a few runs with the recorded ones")
    words = parser.parse_args()
    if words.check:
        return check(words.agents)
    done = list(run_all(words.agents, words.arms))
    repeated = {(run.agent, run.arm, run.seed, run.task) for run in done}
    others = [run for run in load() if (run.agent, run.arm, run.seed, run.task) not in repeated]
    order = [agent.__name__ for agent in AGENTS]
    arms = list(ARMS)
    save(sorted([*others, *done], key=lambda run: (order.index(run.agent), run.seed, arms.index(run.arm))))
    for table in (mistakes_table, overhead_table, clean_table, forgeries_table, rules_table):
        for row in table(load()):
            print("  ".join(f"{cell:<26}" for cell in row))
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
