"""An agent that knows only the printed commands reaches the end, in this process, in processes and in a shell."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from support.sandbox import ASKING, ENTRY, Ran, flow, process, put_skill, told
from support.simulated_agents import words_of

NUMBERS = {
    "decision-critic": [1, 2, 3, 4, 5, 6, 7, None],
    "problem-analysis": [1, 2, 3, 3, 3, 3, 3, 4, 5, None],
}


def in_a_shell(line: str) -> Ran:
    """Run a command line unchanged in a shell that finds `flow` on its path."""
    folder = Path.cwd().parent / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "flow"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -c {shlex.quote(ENTRY)} "$@"\n')
    program.chmod(0o755)
    environ = {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh", "-c", line], env=environ, capture_output=True, text=True, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


def walk(
    line: str,
    *,
    run: Callable[[str], Ran] = lambda line: flow(*words_of(line)),
    choose: Callable[[list[Any]], Any] = lambda cases: cases[0],
) -> list[Any]:
    """Run *line* and then one printed command after the other until none is printed; return all answers."""
    answers: list[Any] = []
    while True:
        ran = run(f"{line} --format json")
        assert (ran.status, ran.err) == (0, ""), (line, ran)
        answers.append(ran.data)
        assert len(answers) <= 60, "the run does not end"
        if not ran.data["next"]:
            return answers
        case = choose(ran.data["next"])
        examples = {name: arg["example"] for name, arg in case["wants"].items() if arg.get("required")}
        texts = [
            f"{name}={value if isinstance(value, str) else json.dumps(value)}"
            for name, value in examples.items()
        ]
        line = " ".join([case["command"], *(f"-s {shlex.quote(text)}" for text in texts)])


def numbers(answers: list[Any]) -> list[int | None]:
    return [answer["step"] and answer["step"]["number"] for answer in answers]


@pytest.mark.parametrize("skill", NUMBERS)
@pytest.mark.parametrize("run", [lambda line: flow(*words_of(line)), lambda line: process(*words_of(line))])
def test_an_agent_walks_a_bundled_skill_to_its_end(skill: str, run: Callable[[str], Ran]) -> None:
    answers = walk(f"flow step {skill}", run=run)

    assert numbers(answers) == NUMBERS[skill]
    assert answers[-1]["status"] == "completed"


def test_an_agent_walks_in_a_shell_with_the_printed_commands() -> None:
    put_skill("asking", ASKING)

    answers = walk("flow step asking -p topic='a \"b\" $c'", run=in_a_shell)

    assert numbers(answers) == [1, 1, 1, 2, None]
    assert answers[-1]["params"]["topic"] == 'a "b" $c'


def test_required_facts_are_appended_to_a_printed_command() -> None:
    put_skill("asking", ASKING)

    answers = walk("flow step asking", choose=lambda cases: cases[-1])

    assert numbers(answers) == [1, 2, None]
    assert answers[0]["next"][-1]["wants"]
    assert answers[-1]["status"] == "failed"


def test_a_parameter_may_be_any_text() -> None:
    text = 'it\'s "slow" & <b>; $(rm -rf) `x` ]]> \u202e\n\\ 100%'

    for form in ("xml", "text", "json"):
        shown = flow("step", "problem-analysis", "--new", "-p", f"topic={text}", "--format", form)
        assert shown.status == 0
        assert "\u202e" not in shown.out or form == "json"
        if form == "xml":
            instructions = ET.fromstring(shown.out).findtext("current_action")  # noqa: S314 - our own output
            assert text.replace("\u202e", "⟨U+202E⟩").replace("\n", "\n> ") in str(instructions)
    assert told("step", "problem-analysis", "--new", "-p", f"topic={text}")["params"]["topic"] == text
