"""An agent, or whoever leads, may die at any moment of handing work over: nothing is lost, nothing counts twice."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.agents import FREE, put_lead
from support.killing import killed_at_every_call
from support.sandbox import flow, told


def lead(skill: str = "lead", text: str | None = None) -> Any:
    put_lead(skill, text) if text else put_lead(skill)
    return told("start", skill, "-p", 'areas=["a"]')


def words(line: str) -> list[str]:
    return line.split()[1:]


@contextmanager
def as_before() -> Iterator[None]:
    """Put the store back as it was."""
    kept = Path.cwd() / "kept"
    if not kept.exists():
        shutil.copytree(Path.cwd() / ".flow", kept)
    yield
    shutil.rmtree(Path.cwd() / ".flow")
    shutil.copytree(kept, Path.cwd() / ".flow")


def deaths(command: Sequence[str]) -> Iterator[None]:
    """Kill *command* at every call, from the same store each time."""
    shutil.copytree(Path.cwd() / ".flow", Path.cwd() / "kept")
    for _ in killed_at_every_call(command):
        with as_before():
            yield


def test_a_claim_killed_anywhere_has_happened_or_not() -> None:
    begun = lead()
    command = words(begun["dispatches"][0]["command"])
    seen = set()

    for _ in deaths(command):
        here = told("resume", begun["session"])["dispatches"][0]
        seen.add(here["status"])
        child = told(*words(here["resume"] or here["command"]))
        second = told(*words(child["next"][0]["command"]))
        assert "RESULT ok" in told(*words(second["next"][0]["command"]), "-s", "found=x")["actions"][1]
        after = told("resume", begun["session"])
        assert (after["join"]["succeeded"], after["dispatches"][0]["child"]) == (1, child["session"])
        for each in told("sessions", "--all")["sessions"]:
            assert each["error"] is None
            if each["session"] not in {begun["session"], child["session"]}:  # begun, and never handed over
                lost = flow("step", "lead/one", "ok", "--session", each["session"], "--json")
                assert (lost.status, lost.error["code"]) == (4, "DISPATCH_GONE")

    assert seen == {"pending", "claimed"}


def test_the_last_report_of_an_agent_killed_anywhere_counts_once() -> None:
    begun = lead()
    child = told(*words(begun["dispatches"][0]["command"]))
    second = told(*words(child["next"][0]["command"]))
    command = [*words(second["next"][0]["command"]), "-s", "found=x"]
    seen = set()

    for _ in deaths(command):
        seen.add(told("resume", begun["session"])["join"]["succeeded"])
        assert "RESULT ok" in told(*command)["actions"][1]
        here = told("resume", begun["session"])
        assert here["dispatches"][0]["result"] == {"found": "x"}
        assert told(*words(here["next"][0]["command"]))["step"]["id"] == "tell"
        assert flow("session", "verify").status == 0

    assert seen == {0, 1}


def test_a_result_killed_anywhere_counts_once() -> None:
    begun = lead("free", FREE)
    handed = told(*words(begun["dispatches"][0]["command"]))
    command = [*words(handed["finish"][0]), "-s", "found=x"]
    seen = set()

    for _ in deaths(command):
        seen.add(told("resume", begun["session"])["join"]["succeeded"])
        assert told(*command)["status"] == "done"
        assert told("resume", begun["session"])["dispatches"][0]["result"] == {"found": "x"}
        finishes = [each for each in told("history", begun["session"])["steps"] if each["kind"] == "finish"]
        assert len(finishes) == 1

    assert seen == {0, 1}


def test_questions_and_answers_killed_anywhere_are_put_and_given_once() -> None:
    begun = lead()
    child = told(*words(begun["dispatches"][0]["command"]))["session"]
    block = Path.cwd() / "questions.json"
    options = '[{"label": "Redis"}, {"label": "Postgres"}]'
    block.write_text(f'[{{"id": "db", "header": "Store", "text": "Which?", "options": {options}}}]')
    ask, answer = ["ask", child, str(block)], ["answer", child, "db=Redis"]

    for _ in deaths(ask):
        told(*ask)
        (question,) = told("resume", begun["session"])["questions"]
        assert question["answer"] is None
    shutil.rmtree(Path.cwd() / "kept")
    told(*ask)
    for _ in deaths(answer):
        (question,) = told(*answer)["questions"]
        assert question["answer"] == ["Redis"]
        kinds = [each["kind"] for each in told("history", child)["steps"]]
        assert kinds == ["start", "ask", "answer"]
