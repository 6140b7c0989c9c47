"""Bundled skills broken by one slip each: nearly every one is found before anything runs, or by a walk."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mutants import KINDS, Mutant, mutants
from support.sandbox import flow

from flowrail.formatters.blocks.fences import fence_problems
from flowrail.operations.skills.check import check

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


@pytest.mark.long
def test_nearly_every_slip_of_all_is_found(tmp_path: Path) -> None:
    every = list(mutants())

    missed = [
        each.id for place, each in enumerate(every) if not found(each, tmp_path / str(place), walks=True)
    ]

    assert len(missed) <= (1 - OF_ALL) * len(every), missed
