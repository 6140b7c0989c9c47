"""Every step starts a process, so it loads few modules."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support.bundled_evidence import provide_evidence
from support.hooks import hook, within
from support.sandbox import ENTRY, SMALL, clean_environment, put_skill, told

from flowrail.hosts.host import EVENTS

HEAVY = {"asyncio", "ssl", "cattrs", "pydantic", "statemachine", "yaml", "rich", "importlib.metadata"}
DATABASES = {"sqlalchemy", "psycopg", "sqlite3", "dbos"}
NOT_FOR_A_STEP = {"pydantic", "rich", "yaml"} | DATABASES

RECORDER = """
import atexit, sys

class Recorder:
    names = []

    def find_spec(self, name, path=None, target=None):
        self.names.append(name)

sys.meta_path.insert(0, Recorder())
atexit.register(lambda: sys.stderr.write("loaded: " + " ".join(Recorder.names)))
"""


def python(code: str, *words: str, stdin: str = "") -> str:
    """Run a program in a process of its own and return what it writes to standard error."""
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=clean_environment(),
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stderr


def loaded(*words: str, code: str = ENTRY, stdin: str = "") -> set[str]:
    """Return every module that a command imports, placeholders included."""
    return set(python(RECORDER + code, *words, stdin=stdin).rpartition("loaded: ")[2].split())


@pytest.mark.parametrize("words", [["--help"], ["--version"]])
def test_help_loads_no_command_and_nothing_heavy(words: list[str]) -> None:
    modules = loaded(*words)

    assert not HEAVY & modules
    assert not [module for module in modules if module.startswith("flowrail.cli.commands.")]


def test_a_step_of_a_bundled_skill_loads_no_heavy_module() -> None:
    step = told("step", "decision-critic", "-p", "decision=x")
    report = step["next"][0]["command"].split()[1:]
    provide_evidence(report)

    assert not NOT_FOR_A_STEP & loaded(*report)


@pytest.mark.parametrize("event", EVENTS)
def test_a_hook_without_an_answer_loads_few_modules_even_in_the_callers_own_step(event: str) -> None:
    put_skill("small", SMALL.replace("title: First,", "title: First, forbids: ['Bash(git push*)'],"))
    for conversation in ("another", "", "this"):
        within(conversation or None, "step", "small", "--new")
    event_data = {
        "session_id": "this" if "tool" in event else "other",
        "cwd": str(Path.cwd()),
        "tool_name": "Bash",
        "tool_input": {"command": "git status"},
        "tool_response": {"stdout": ""},
    }
    if event == "session-start":  # it has an answer where sessions are open
        event_data["cwd"] = str(Path.cwd().parent)

    hook(event, event_data)  # makes the index of guards

    modules = loaded("hook", event, stdin=json.dumps(event_data))

    assert not modules & {
        *HEAVY,
        *DATABASES,
        "click",
        "dataclasses",
        "inspect",
        "logging",
        "hashlib",
        "shlex",
        "subprocess",
        "typing",
    }
    assert not [name for name in modules if name.startswith(("flowrail.machines", "flowrail.operations"))]


def test_importing_the_package_loads_nothing() -> None:
    modules = loaded(code="import flowrail")

    assert {module for module in modules if module.startswith("flowrail")} == {
        "flowrail",
        "flowrail.lazy_names",
    }
    assert not HEAVY & modules
