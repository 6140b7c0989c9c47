"""Bundled skills with one error each: nearly every error is found before anything runs, or by a walk."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.mutants import Mutant, mutants
from support.sandbox import flow

from flowrail.operations.skills.skill_check import check
from flowrail.skills.loader import Loader

KINDS = (
    "transition removed", "target missing", "step renamed", "step unreachable", "limit removed", "fact renamed",
    "outcome changed", "reference changed", "text renamed", "placeholder renamed",
)  # fmt: skip
TRIED = 6
"""How many mutants of a kind are tried, spread over all of them. All of them take minutes."""
WHOLE = {"fact renamed"}
"""Kinds of which all are tried: nearly as many are missed as may be, so a sample would decide by chance."""
ENOUGH = {"fact renamed": 0.7, "limit removed": 0.85}
"""A fact that only agents read, such as a path, may have any name. One of two limits on a loop is enough."""
OF_ALL = 0.95


def missed(tried: list[Mutant], folder: Path, *, walks: bool = False) -> list[Mutant]:
    """Return the mutants in which the check finds nothing; with *walks*, the test of the skill finds nothing either."""
    result = []
    for number, mutant in enumerate(tried):
        skill = str(mutant.write(folder / str(number)))
        is_found = any(report.findings for report in check([skill], Loader(), str(folder)))
        if not is_found and not (walks and flow("test", skill, "--strict").status == 1):
            result.append(mutant._replace(files={}))
    return result


@pytest.mark.parametrize("kind", KINDS)
def test_nearly_every_mistake_is_found_before_anything_runs(kind: str, tmp_path: Path) -> None:
    mutants_of_kind = list(mutants(kind))
    tried = mutants_of_kind if kind in WHOLE else mutants_of_kind[:: max(1, len(mutants_of_kind) // TRIED)]

    found_not = missed(tried, tmp_path)

    assert len(tried) >= TRIED // 2
    assert len(found_not) <= (1 - ENOUGH.get(kind, OF_ALL)) * len(tried), found_not


@pytest.mark.long
def test_nearly_every_mistake_of_all_is_found(tmp_path: Path) -> None:
    tried = list(mutants(*KINDS))

    found_not = missed(tried, tmp_path, walks=True)

    assert {mutant.kind for mutant in tried} == set(KINDS)
    assert len(found_not) <= (1 - OF_ALL) * len(tried), found_not
