"""Agents who know nothing but what is printed end every bundled workflow, by every way there is."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any, NamedTuple

import pytest
from support.habits import habits
from support.sandbox import told
from support.team import Habit, Team

from flowrail.machines.definition import Definition
from flowrail.machines.graph import possible_edges
from flowrail.skills.catalog import listing, workflows
from flowrail.skills.shelf import definition_of

ADDRESSES = [file.address for found in listing(()) for file in workflows(found)]
NEVER_TAKEN: Mapping[tuple[str, str, str], str] = {}
"""Ways on that no walk here takes, each with the reason."""

MORE_THAN_ITS_LIMIT = {
    ("perspective-swarm", "framing"): "three failed framings of its own, and those that gathering sent back",
    ("perspective-swarm", "output"): "five refinements, and what came back from failed handoffs",
}
"""Steps that are entered more often than their limit, which is on their own way back, each with the reason."""

ALLOWED_BEYOND = 3
"""How many rounds a user may allow where a limit asks: another one twice, and one for MUST alone."""


class Taken(NamedTuple):
    """What the walks of one skill's workflows did, by workflow."""

    ways: set[tuple[str, str, str]]
    capped: set[tuple[str, str]]
    passed: set[tuple[str, str]]
    entered: set[tuple[str, str]]


@pytest.fixture(autouse=True)
def _no_flushing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spare the disk: what outlives a power cut is tested elsewhere."""
    monkeypatch.setattr(os, "fsync", lambda _fd: None)


def modes(definition: Definition) -> Iterator[dict[str, str]]:
    """Yield what the parameters can say: each mode there is, and every choice of any other parameter once."""
    required = {name: str(arg.sample()) for name, arg in definition.params.items() if arg.required}
    yield required
    branching = {name for step in definition.steps for name in _names(step.when)}
    chosen = {
        name: [
            str(choice) for choice in (arg.choices or (("true", "false") if arg.kind == "boolean" else ()))
        ]
        for name, arg in definition.params.items()
    }
    several = {name: values for name, values in chosen.items() if values and name in branching}
    for values in product(*several.values()):
        yield {**required, **dict(zip(several, values, strict=True))}
    for name in chosen.keys() - several.keys():
        yield from ({**required, name: value} for value in chosen[name])


def _names(when: Any) -> set[str]:
    return set(str(when or "").replace("'", " ").split())


def begin(address: str, params: Mapping[str, str]) -> str:
    """Return the command that starts a workflow."""
    given = [f"-p {shlex.quote(f'{name}={value}')}" for name, value in params.items()]
    return " ".join(["flow", "start", address, *given])


def walked(address: str, habit: Habit, params: Mapping[str, str], taken: Taken) -> None:
    """Walk one workflow to its end and note everything that its sessions did."""
    team = Team(habit)
    end = team.run(begin(address, params))
    assert end.status in {"completed", "failed"}, (address, end)
    for session, last in team.sessions.items():
        assert last.status in {"completed", "failed"}, (address, session, last.status)
        visits: dict[str, int] = {}
        for move in told("history", session)["steps"]:
            if move["kind"] != "move":
                continue
            where = (last.skill, move["step"])
            taken.entered.add(where)
            taken.passed.update((last.skill, step) for step in move["passed"])
            if move["capped"]:
                taken.capped.add(where)
            else:
                taken.ways.add((*where, move["outcome"]))
            visits[move["step"]] = visits.get(move["step"], 0) + 1
        assert _within_limits(last.skill, visits), (session, visits)


def _within_limits(address: str, visits: Mapping[str, int]) -> bool:
    definition = definition_of(address, ())[0]
    return all(
        step.bound is None
        or visits.get(step.id, 0) <= step.bound + (ALLOWED_BEYOND if "fail" in step.next else 0)
        or (address, step.id) in MORE_THAN_ITS_LIMIT
        for step in definition.steps
    )


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_agent_of_any_habit_ends_every_workflow_and_every_way_on_is_taken(address: str) -> None:
    definition = definition_of(address, ())[0]
    taken = Taken(set(), set(), set(), set())

    for params in modes(definition):
        walked(address, Habit(), params, taken)
    for habit in habits().values():
        walked(address, habit, next(modes(definition)), taken)

    ways = {(address, edge.source, str(edge.outcome)) for edge in possible_edges(definition)}
    mine = {way for way in taken.ways if way[0] == address}
    assert ways - mine == {way for way in NEVER_TAKEN if way[0] == address}
    assert {outcome for *_, outcome in mine - ways} <= {"stop"}
    for step in definition.steps:
        assert (address, step.id) in taken.entered
        assert step.when is None or (address, step.id) in taken.passed, step.id
        loops = step.limit is not None and "iterate" in step.next
        assert not loops or (address, step.id) in taken.capped, step.id
