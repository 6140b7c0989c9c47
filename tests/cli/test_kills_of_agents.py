"""Agents and their orchestrator may die at any moment of a dispatch: nothing is lost, nothing counts twice."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from support.dispatching_skill import put_lead
from support.interruptions import every_few_calls, killed_at_calls
from support.sandbox import flow, told

from flowrail.storage.user_folders import state_folder


def lead(skill: str = "lead", text: str | None = None) -> Any:
    put_lead(skill, text) if text else put_lead(skill)
    return told("step", skill, "--new", "-p", 'areas=["a"]')


def words(line: str) -> list[str]:
    return line.split()[1:]


def deaths(command: Sequence[str], stride: int) -> Iterator[None]:
    """Kill *command* at its calls, from the same store and the same state of the user each time."""
    changing = {Path.cwd() / ".flow": "store", Path(state_folder(os.environ, os.environ["HOME"])): "state"}
    for folder, name in changing.items():
        shutil.copytree(folder, Path.cwd() / "kept" / name)
    for _ in killed_at_calls(command, stride):
        yield
        for folder, name in changing.items():
            shutil.rmtree(folder)
            shutil.copytree(Path.cwd() / "kept" / name, folder)


@every_few_calls
def test_a_start_of_a_child_that_is_killed_counts_once_or_not_at_all(stride: int) -> None:
    begun = lead()
    command = words(begun["dispatches"][0]["command"])
    seen = set()

    for _ in deaths(command, stride):
        dispatch = told("resume", begun["session"])["dispatches"][0]
        seen.add(dispatch["status"])
        child = told(*words(dispatch["command"]))
        second = told(*words(child["next"][0]["command"]))
        assert "completed" in told(*words(second["next"][0]["command"]), "-s", "found=x")["result"]["of"]
        after = told("resume", begun["session"])
        assert (after["join"]["succeeded"], after["dispatches"][0]["child"]) == (1, child["session"])

    assert stride > 1 or seen == {"pending", "active"}


@every_few_calls
def test_a_replacement_that_is_killed_counts_once_or_not_at_all(stride: int) -> None:
    begun = lead()
    child = told(*words(begun["dispatches"][0]["command"]))["session"]
    seen = set()

    for _ in deaths(["step", "--session", begun["session"], "--again", "1"], stride):
        dispatch = told("resume", begun["session"])["dispatches"][0]
        seen.add(dispatch["child"])
        late = flow("step", "ok", "--session", child, "--json")
        assert (late.status == 0) is (dispatch["child"] == child)
        assert flow("audit", "--verify").status == 0

    assert stride > 1 or seen == {child, f"{child}-2"}


@every_few_calls
def test_the_last_report_of_an_agent_counts_once_if_it_is_killed(stride: int) -> None:
    begun = lead()
    child = told(*words(begun["dispatches"][0]["command"]))
    second = told(*words(child["next"][0]["command"]))
    command = [*words(second["next"][0]["command"]), "-s", "found=x"]
    seen = set()

    for _ in deaths(command, stride):
        seen.add(told("resume", begun["session"])["join"]["succeeded"])
        assert "completed" in told(*command)["result"]["of"]
        resumed = told("resume", begun["session"])
        assert resumed["dispatches"][0]["result"] == {"found": "x"}
        assert told(*words(resumed["next"][0]["command"]))["step"]["id"] == "tell"
        assert flow("audit", "--verify").status == 0

    assert stride > 1 or seen == {0, 1}
