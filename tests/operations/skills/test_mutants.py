"""Bundled skills broken by one slip each: nearly every one is found before anything runs, or by a walk."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from support.mutants import KINDS, Mutant, mutants
from support.sandbox import flow

from flowrail.formatters.blocks.fences import fence_problems
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.loading import skill_folder
from flowrail.operations.skills.check import between, check
from flowrail.skills.catalog import listing, workflows

TRIED = 6
"""How many mutants of a kind are tried, spread over all of them. All of them take minutes."""
ENOUGH = {"fact renamed": 0.7, "limit removed": 0.85}
"""A fact that only agents read, such as a path, may have any name: 11 of 55. One of two limits on a loop is enough."""
OF_ALL = 0.95


def found(mutant: Mutant, folder: Path, *, walks: bool = False) -> bool:
    skill = mutant.write(folder)
    reports = check([str(skill)], (), str(folder), problems=fence_problems)
    told = any(report.findings for report in reports)
    return told or (walks and flow("test", str(skill), "--strict").status == 1)


@pytest.mark.parametrize("kind", KINDS)
def test_nearly_every_slip_is_found_before_anything_runs(kind: str, tmp_path: Path) -> None:
    every = [each for each in mutants() if each.kind == kind]
    some = every[:: max(1, len(every) // TRIED)]

    missed = [each.id for place, each in enumerate(some) if not found(each, tmp_path / str(place))]

    assert len(missed) <= (1 - ENOUGH.get(kind, OF_ALL)) * len(some), missed


def test_every_way_that_is_moved_to_another_step_is_told_by_against() -> None:
    moved = 0
    for skill in listing(()):
        for before in (skill_folder.read(file).definition for file in workflows(skill)):
            for at, step in enumerate(before.steps):
                for outcome, target in step.next.items():
                    others = [each.id for each in before.steps if each.id != target]
                    for to in others[at % 2 :: max(1, len(others))]:
                        other = replace(step, next={**step.next, outcome: to})
                        steps = [*before.steps[:at], other, *before.steps[at + 1 :]]
                        after = Workflow(
                            before.name, *steps, validate=False, params=before.params, then=before.then
                        )
                        told = list(between(before, after))

                        assert [(each.step, each.stops) for each in told] == [(step.id, True)]
                        assert f"leads to `{to}`" in told[0].what
                        moved += 1

    assert moved > 100


@pytest.mark.long
def test_nearly_every_slip_of_all_is_found(tmp_path: Path) -> None:
    every = list(mutants())

    missed = [
        each.id for place, each in enumerate(every) if not found(each, tmp_path / str(place), walks=True)
    ]

    assert len(missed) <= (1 - OF_ALL) * len(every), missed
