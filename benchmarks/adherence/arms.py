"""The arms: the same procedure as a skill text, as steps, with hooks, with evidence, and with guards.

All arms are made from one `workflow.yaml`, so that the agent reads the same instructions in each of them.
"""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

TASKS = Path(__file__).parent / "tasks"
TEXT, STEPS, HOOKS, EVIDENCE, GUARDS = "text", "steps", "hooks", "evidence", "guards"
ARMS = {
    TEXT: "(a) skill text",
    STEPS: "(b) steps",
    HOOKS: "(c) steps, hooks",
    EVIDENCE: "(d) steps, hooks, evidence",
    GUARDS: "(e) also guards, order rules",
}


class Task(NamedTuple):
    """A procedure, a project to carry it out in, what a diligent agent does at each step, and the grading."""

    name: str
    folder: Path
    workflow: Mapping[str, Any]
    work: Mapping[str, Any]
    forgeries: tuple[Mapping[str, Any], ...]
    rules: Mapping[str, str]
    grade: Callable[[Path], dict[str, bool]]

    @property
    def params(self) -> str:
        """The options that start the workflow."""
        params = self.workflow.get("params", {})
        return "".join(f" -p {name}={declared['example']}" for name, declared in params.items())


class Project(NamedTuple):
    """A project in a folder, ready for an agent, and the environment of its host."""

    path: Path
    environment: dict[str, str]


def task_named(name: str) -> Task:
    """Read a task."""
    folder = TASKS / name
    agent = yaml.safe_load((folder / "work.yaml").read_text(encoding="utf-8"))
    workflow = yaml.safe_load((folder / "skill" / "workflow.yaml").read_text(encoding="utf-8"))
    return Task(
        name=name,
        folder=folder,
        workflow=workflow,
        work=agent["work"],
        forgeries=tuple(agent.get("forgeries", ())),
        rules=agent.get("rules", {}),
        grade=runpy.run_path(str(folder / "grade.py"))["grade"],
    )


def task_names() -> list[str]:
    """Return the names of all tasks."""
    return sorted(folder.name for folder in TASKS.iterdir())


def simulated_environment(folder: Path) -> dict[str, str]:
    """Return the environment of a simulated host, with a home of its own in *folder*."""
    home = folder / "home"
    home.mkdir()
    own = {name: os.environ[name] for name in ("LANG", "LC_ALL", "TMPDIR") if name in os.environ}
    return {**own, "PATH": os.environ.get("PATH", os.defpath), "HOME": str(home)}


def set_up(task: Task, arm: str, folder: Path, environment: Mapping[str, str]) -> Project:
    """Create the task's project in *folder*, for one arm."""
    path = folder / "project"
    shutil.copytree(task.folder / "project", path)
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    programs = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    project = Project(path, {**environment, "PATH": programs, "XDG_STATE_HOME": str(folder / "state")})
    skill = path / ".claude" / "skills" / task.name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(_skill_text(task, arm), encoding="utf-8")
    if arm == TEXT:
        return project
    without = set() if arm == GUARDS else {"guards", "order"}
    workflow = {key: value for key, value in task.workflow.items() if key not in without}
    workflow["steps"] = [_step(step, arm) for step in task.workflow["steps"]]
    text = yaml.safe_dump(workflow, sort_keys=False, allow_unicode=True)
    (skill / "workflow.yaml").write_text(text, encoding="utf-8")
    if arm in {HOOKS, EVIDENCE, GUARDS}:
        _flow(project, "setup", "--host", "claude-code")
    if arm in {EVIDENCE, GUARDS}:
        shown = _flow(project, "trust", task.name, "--digest", "0", "--json", refused=True)
        digest = json.loads(shown)["error"]["details"]["digest"]
        _flow(project, "trust", task.name, "--digest", digest)
    return project


def _step(step: Mapping[str, Any], arm: str) -> dict[str, Any]:
    """Return a step without the keys that an arm does not have."""
    without = {STEPS: {"forbids", "evidence", "commands"}, HOOKS: {"evidence", "commands"}}.get(arm, set())
    return {key: value for key, value in step.items() if key not in without}


def _skill_text(task: Task, arm: str) -> str:
    head = f"---\nname: {task.name}\ndescription: {task.workflow['description']}\n---\n\n# {task.name}\n"
    if arm != TEXT:
        return (
            f"{head}\n    flow step {task.name}{task.params}\n\nEach answer shows one step and a command for each "
            "possible outcome. Do the step, then run one of these commands exactly as printed. To see the current "
            f"step again, run `flow step {task.name}`.\n"
        )
    steps = task.workflow["steps"]
    numbers = {step["id"]: number for number, step in enumerate(steps, 1)}
    lines = [head]
    for number, step in enumerate(steps, 1):
        lines += [f"## {number}. {step['title']}", "", *step["actions"], ""]
        if len(step["next"]) > 1 or next(iter(step["next"].values())) != _after(steps, number):
            for outcome, target in step["next"].items():
                where = f"continue with step {numbers[target]}" if target else "the work is finished"
                lines.append(f"- If the outcome is {outcome}, {where}.")
            lines.append("")
    return "\n".join(lines)


def _after(steps: list[dict[str, Any]], number: int) -> str | None:
    return steps[number]["id"] if number < len(steps) else None


def _flow(project: Project, *words: str, refused: bool = False) -> str:
    done = subprocess.run(
        ["flow", *words],
        cwd=project.path,
        env=project.environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert bool(done.returncode) == refused, (words, done)
    return done.stdout
