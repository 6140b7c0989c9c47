"""Agents that only run printed commands complete every bundled workflow, through every transition."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest
from support.bundled_evidence import LARGE_MILESTONE
from support.loop_model import counted, loop_of
from support.sandbox import as_user, told
from support.simulated_agents import Habit, Team, habits, more_habits

from flowrail.machines.next_step import possible_edges
from flowrail.machines.workflow import Workflow
from flowrail.skills.catalog import listing, workflows
from flowrail.skills.loader import Loader

ADDRESSES = [file.address for found in listing(()) for file in workflows(found)]
BY_AN_OPTIONAL_FACT = {"codebase-analysis": {("survey", "skip")}}
"""Transitions that need a fact which agents of these habits never report; the walks of `flow test` take them."""

ANOTHER_ROUND = "Another round"
ALLOWED_BEYOND = 3
"""How many rounds a user may allow where a limit asks: another one twice, and one for MUST alone."""


class Taken(NamedTuple):
    """What the walks of one workflow did: transitions by step and outcome, and results by step."""

    transitions: set[tuple[str, str]]
    capped: set[str]
    passed: set[str]
    entered: set[str]


@pytest.fixture(autouse=True)
def _no_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: what outlives a power cut is tested elsewhere."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)


def modes(definition: Workflow) -> Iterator[dict[str, str]]:
    """Yield what the parameters can say: each mode there is, and every choice of any other parameter once."""
    samples = {name: str(arg.sample()) for name, arg in definition.params.items() if arg.required}
    required = {name: sample.replace("/srv/shop", str(Path.cwd())) for name, sample in samples.items()}
    yield required
    branching = {name for step in definition.steps for name in _names(step.when)}
    chosen = {
        name: [str(choice) for choice in arg.choices or _some(arg.kind, branches=name in branching)]
        for name, arg in definition.params.items()
    }
    several = {name: values for name, values in chosen.items() if values and name in branching}
    for values in product(*several.values()):
        yield {**required, **dict(zip(several, values, strict=True))}
    for name in chosen.keys() - several.keys():
        yield from ({**required, name: value} for value in chosen[name])


def _some(kind: str | None, *, branches: bool) -> tuple[str, ...]:
    if kind == "boolean":
        return ("true", "false")
    return ("1", "2") if kind == "integer" and branches else ()


def _names(when: Any) -> set[str]:
    return set(str(when or "").replace("'", " ").split())


def begin(address: str, params: Mapping[str, str]) -> str:
    """Return the command that starts a workflow."""
    given = [f"-p {shlex.quote(f'{name}={value}')}" for name, value in params.items()]
    return " ".join(["flow", "step", address, "--new", *given])


def walked(address: str, habit: Habit, params: Mapping[str, str], taken: Taken) -> None:
    """Walk one workflow to its end and note everything that it did; its agents have walks of their own."""
    team = Team(habit, runs=as_user)
    end = team.run(begin(address, params))
    assert end.status in {"completed", "failed"}, (address, end)
    assert {last.status for last in team.sessions.values()} <= {"completed", "failed"}
    records = told("sessions", end.session)["history"]
    for move in (record for record in records if record["kind"] == "move"):
        step = move["step"]
        taken.passed.update(move["skipped"])
        if move["capped"]:
            taken.capped.add(step)
        else:
            taken.transitions.add((step, move["outcome"]))
        taken.entered.add(step)
    assert beyond_limits(Loader().load(address).definition, records) == {}, end.session


def beyond_limits(definition: Workflow, records: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the steps whose attempts passed their limit, each with its most attempts.

    Attempts are counted again after a move that enters the loop of a limited step from outside. A user who does not
    agree may have as many more rounds as they ask for.
    """
    table = {
        step.id: {str(outcome): target for outcome, target in step.next.items()} for step in definition.steps
    }
    allowed = {
        step.id: step.bound + (ALLOWED_BEYOND if "fail" in step.next else 0)
        for step in definition.steps
        if step.bound is not None
    }
    loops = {name: loop_of(table, name) for name in allowed}
    counts: dict[str, int] = {}
    beyond: dict[str, int] = {}
    asks = {step.id for step in definition.steps if step.questions}
    for record in records:
        step = record["step"]
        if step in asks and ANOTHER_ROUND in record["note"].get("answers", {}).get("limit", ()):
            allowed[step] += 1
        if record["kind"] != "move":
            continue
        counts[step] = counts.get(step, 0) + 1
        if counts[step] > allowed.get(step, counts[step]):
            beyond[step] = counts[step]
        path = [step, *record["skipped"], *([record["to"]] if record["to"] else [])]
        counts = counted(loops, path, counts)
    return beyond


SHORT = frozenset({"problem-analysis"})
"""Walked in every run; `flow test` walks all bundled skills in process, in `tests/testing/walks/test_run.py`."""


@pytest.mark.parametrize(
    "address", [pytest.param(name, marks=[] if name in SHORT else pytest.mark.long) for name in ADDRESSES]
)
def test_agents_of_any_habit_complete_a_workflow_and_take_every_transition(address: str) -> None:
    definition = Loader().load(address).definition
    taken = Taken(set(), set(), set(), set())

    for params in modes(definition):
        walked(address, Habit(), params, taken)
    with patch("support.bundled_evidence.MILESTONE", LARGE_MILESTONE):
        for habit in habits().values():
            walked(address, habit, next(modes(definition)), taken)

    possible = {(edge.source, str(edge.outcome)) for edge in possible_edges(definition)}
    assert possible - taken.transitions == BY_AN_OPTIONAL_FACT.get(address, set())
    assert {outcome for _, outcome in taken.transitions - possible} <= {"stop"}
    assert {step.id for step in definition.steps} == taken.entered
    assert {step.id for step in definition.steps if step.when is not None} == taken.passed
    loops = (step for step in definition.steps if step.limit is not None and "iterate" in step.next)
    assert {step.id for step in loops if not step.questions} == taken.capped  # no limit changes an answer


@pytest.mark.long
@pytest.mark.parametrize("name", more_habits())
@pytest.mark.parametrize("address", ADDRESSES)
def test_an_agent_that_fails_on_and_on_or_does_anything_ends_every_workflow_too(
    address: str, name: str
) -> None:
    definition = Loader().load(address).definition

    walked(address, more_habits()[name], next(modes(definition)), Taken(set(), set(), set(), set()))
