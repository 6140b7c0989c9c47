"""Every command that is printed in any state of a bundled workflow works, or is marked with what it waits for.

Agents are lost, ask the user, give up and are replaced at every dispatch. Each command is run on a copy of the store.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.sandbox import BUNDLED, as_user, flow, params_of, put_skill
from support.simulated_agents import Habit, StepOutput, Team, habits, read, words_of

from flowrail.outcome import DONE, REPORTABLE

QUESTION = b'{"text": "Which one?", "options": [{"label": "A"}, {"label": "B"}]}'
RUNS = "flow run "
"""Its status is that of the command, or 7 if nobody approved it."""


@contextmanager
def copied() -> Iterator[None]:
    """Undo every change to the project, also inside another copy."""
    here = Path.cwd()
    kept = here.with_name(f"{here.name}-kept")
    while kept.exists():
        kept = kept.with_name(f"{kept.name}-kept")
    shutil.copytree(here, kept, symlinks=True)
    try:
        yield
    finally:
        for path in here.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        shutil.copytree(kept, here, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(kept)


@contextmanager
def without_evidence() -> Iterator[None]:
    """Let commands lack the evidence that tests provide for them."""
    with patch("support.sandbox.provide_evidence", lambda _words: None):
        yield


IN_A_TEXT = re.compile(r"`(?:cd [^`\n]+ && )?(flow [^`\n]+)`")
A_VALUE_IS_OPEN = re.compile(r"\b[A-Z]{2,}\b|…")
NEW_SKILL = "release-notes"
"""The skill that agents of `write-workflow` write: the example of its fact. Its texts name it before it is written."""
SINGLE = ("give_up_command", "relaunch_command", "launcher_command", "take_over_command", "then_command")


def ready(data: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield each printed command that waits for nothing, with its open values filled in, and its input."""
    yield from ((line, b"") for line in (*_reports(data), *_answers(data), *_work(data)))
    parts = [part["command"] for part in (*data["evidence"], *data["commands"])]
    result = data["result"] or {}
    for line in (*parts, *(data[name] for name in SINGLE), result.get("whole"), result.get("next")):
        if line:
            yield line, b""
    texts = "\n".join([*data["actions"], *data["resources"].values()])
    for line in IN_A_TEXT.findall(texts.replace("SESSION", data["session"]).replace('"…"', '"Which one?"')):
        if not A_VALUE_IS_OPEN.search(line):
            yield line, b""
    if data["finding_command"]:
        yield Team().with_finding(data["finding_command"], "SHOULD"), b""
    if data["ask_command"]:
        yield data["ask_command"], QUESTION


def _reports(data: Mapping[str, Any]) -> Iterator[str]:
    printed = read(flow("resume", data["session"], "--format", "xml").out)
    values = {want.name: want.example for want in printed.wants}
    for offer in data["next"]:
        if offer["command"] and not offer["waits_for"]:
            yield Team().with_facts(offer["command"], values)


def _answers(data: Mapping[str, Any]) -> Iterator[str]:
    for question in data["questions"]:
        if question["answer"] is None:
            yield from question["choices"] or [question["command"]]


def _work(data: Mapping[str, Any]) -> Iterator[str]:
    for dispatch in data["dispatches"]:
        lines = (dispatch["command"], dispatch["again_command"], dispatch["relay_command"])
        yield from (line for line in lines if line)


IN_A_HINT = re.compile(r"(?:: |\n *)(flow [^;\n]+?)(?= \[[A-Z_]+\]|[;\n])")
UNKNOWN = "nosuch"


def refused(data: Mapping[str, Any]) -> Iterator[str]:
    """Yield lines that agents type by mistake: refused ones, and some that the state accepts."""
    skill, session = data["skill"], data["session"]
    for offer in data["next"]:
        if offer["command"]:
            yield offer["command"]
            yield re.sub(r" --expect \d+", " --expect 77", offer["command"])
    for outcome in (*REPORTABLE, DONE):
        yield f"flow step {skill} {outcome} --session {session}"
        yield f"flow step {skill} {outcome}"
    for question in data["questions"]:
        yield f"flow answer {session} {question['id']}={UNKNOWN}"
        yield f"flow answer {skill} {question['id']}=other:{UNKNOWN}"
    yield f"flow run {UNKNOWN} --session {session}"
    yield f"flow approve {UNKNOWN} --session {session}"
    yield f"flow step {UNKNOWN} --session {session}"
    yield f"flow step --session {session} --again 99"
    yield f"flow answer {session} {UNKNOWN}=A"
    yield f"flow finding none {session}"
    yield f"flow finding resolve {session} F99"
    yield f"flow handoff send {UNKNOWN} --session {session}"
    yield f"flow session rewind {session} --to 99"
    yield f"flow session migrate {session} --to {UNKNOWN}"
    yield f"flow sessions {session}-{UNKNOWN}"


class Trying(Team):
    """Agents of one habit. In each state, every printed command is tried on a copy."""

    def __init__(self, habit: Habit) -> None:
        super().__init__(habit, runs=as_user)
        self.tried: set[tuple[object, ...]] = set()
        self.disturbed: set[tuple[str, str]] = set()

    def _seen(self, out: str) -> StepOutput:
        seen = super()._seen(out)
        self.try_all(seen.session)
        if seen.work and not seen.met and (seen.skill, seen.step) not in self.disturbed:
            self.disturbed.add((seen.skill, seen.step))
            self.disturb(seen)
        return seen

    def try_all(self, session: str) -> None:
        data = flow("resume", session, "--json").data
        step = (data["skill"], data["step"] and data["step"]["id"], data["status"], len(data["questions"]))
        states = tuple(dispatch["status"] for dispatch in data["dispatches"])
        for line, stdin in ready(data):
            kind = (*step, states, line.replace(session, "").partition("--expect")[0])
            if kind in self.tried:
                continue
            self.tried.add(kind)
            with copied():
                if NEW_SKILL in words_of(line):
                    put_skill(NEW_SKILL)
                ran = as_user(*words_of(line), stdin=stdin)
            accepted = {0, 1, 7} if line.startswith(RUNS) else {0}
            waits_for_evidence = data["evidence"] and "[EVIDENCE_MISSING]" in ran.err  # the step lists it
            assert ran.status in accepted or waits_for_evidence, (line, ran)

    def disturb(self, seen: StepOutput) -> None:
        """Try all commands of the parent and of the child after something happened to the child."""
        work = next((work for work in seen.work if work.status in {"pending", "active"}), None)
        if work is None:
            return
        child = words_of(work.command)[words_of(work.command).index("--session") + 1]
        number = work.number
        acts: dict[str, list[tuple[list[str], bytes]]] = {
            "started": [(words_of(work.command), b"")],
            "asks": [(["ask", child, "-"], QUESTION)],
            "answered": [(["ask", child, "-"], QUESTION)],
            "lost": [(["session", "abandon", child, "--reason", "no answer"], b"")],
            "replaced": [
                (words_of(work.command), b""),
                (["step", "--session", seen.session, "--again", number], b""),
            ],
        }
        for act, lines in acts.items():
            with copied():
                for words, stdin in lines:
                    ran = flow(*words, stdin=stdin)
                    assert ran.status == 0, (act, words, ran)
                if act == "answered":
                    asked = flow("resume", child, "--json").data["questions"][0]
                    assert as_user(*words_of(asked["choices"][0])).status == 0
                self.try_all(seen.session)
                self.try_all(child)


class Mistaken(Trying):
    """Agents that type wrong commands in each state. Each command that a refusal names is tried on a copy."""

    def try_all(self, session: str) -> None:
        data = flow("resume", session, "--json").data
        state = (data["skill"], data["step"] and data["step"]["id"], data["status"], len(data["questions"]))
        dispatches = tuple(dispatch["status"] for dispatch in data["dispatches"])
        if (*state, dispatches) in self.tried:
            return
        self.tried.add((*state, dispatches))
        hinted: dict[tuple[str, str], str] = {}
        for line in refused(data):
            with copied(), without_evidence():
                ran = flow(*words_of(line))
            code = ran.err.rpartition("[")[2].partition("]")[0]
            for named in IN_A_HINT.findall(ran.err) if ran.status else ():
                hinted.setdefault((code, named), line)
        for (_, named), line in hinted.items():
            if not A_VALUE_IS_OPEN.search(named):
                with copied():
                    ran = as_user(*words_of(named))
                assert ran.status in ({0, 1, 7} if named.startswith(RUNS) else {0}), (line, named, ran)


@pytest.mark.parametrize(
    ("skill", "habit"),
    [
        pytest.param("problem-analysis", "first", id="problem-analysis"),
        *(
            pytest.param(skill, habit, id=f"long-{skill}-{habit}", marks=pytest.mark.long)
            for skill in BUNDLED
            for habit in ("first", "last", "failing, then Stop")
        ),
    ],
)
def test_every_command_that_a_refusal_names_works_on_a_copy_of_its_session(skill: str, habit: str) -> None:
    team = Mistaken(habits()[habit])

    team.run(f"flow step {skill} --new {params_of(skill)}".rstrip())

    assert team.tried


@pytest.mark.parametrize(
    ("skill", "habit"),
    [
        pytest.param("perspective-swarm", "first", id="perspective-swarm"),
        *(
            pytest.param(skill, habit, id=f"long-{skill}-{habit}", marks=pytest.mark.long)
            for skill in BUNDLED
            for habit in habits()
        ),
    ],
)
def test_every_printed_command_works_on_a_copy_of_its_session(skill: str, habit: str) -> None:
    team = Trying(habits()[habit])

    team.run(f"flow step {skill} --new {params_of(skill)}".rstrip())

    assert team.tried
