"""The machine of a handoff: which phases follow on which, and what each guard asks."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.golden import in_golden_block
from support.refusals import refused

from flowrail.diagrams.handoff import lifecycle_picture
from flowrail.diagrams.renderers import mermaid
from flowrail.handoff import handoff
from flowrail.handoff.lifecycle import (
    CHECKS,
    CONDITIONS,
    TRANSITIONS,
    LifecycleTransition,
    next_phase,
)

YES = dict.fromkeys(CONDITIONS, True)


@pytest.mark.parametrize("edge", [edge for edge in TRANSITIONS if edge.conditions], ids=str)
def test_every_guard_alone_prevents_its_transition(edge: LifecycleTransition) -> None:
    source, event, target = edge.source, [edge.event], edge.target
    for missing in edge.conditions:
        answers = {**YES, missing: False}
        if (source, edge.event) == ("validation", "refuse"):
            assert next_phase(source, event, answers) == handoff.FAILED
            continue
        with refused("PHASE_NOT_OPEN") as caught:
            next_phase(source, event, answers)
        assert CONDITIONS[missing] in caught.value.message
        assert caught.value.details["conditions"] == [missing]
    assert next_phase(source, event, YES) == target


def test_the_drawing_shows_every_transition() -> None:
    drawn = {(arrow.source, arrow.target): [*arrow.outcomes] for arrow in lifecycle_picture().arrows}

    for edge in TRANSITIONS:
        assert any(
            label.startswith(edge.event.replace("_", " ")) for label in drawn[edge.source, edge.target]
        )
    assert drawn["validation", "transfer"] == ["hand on [all checks pass]"]
    assert drawn["invocation", "acknowledgment"] == ["acknowledge [payload unchanged, received]"]
    assert drawn["validation", "rejected"] == ["refuse [not fixable]", "cancel"]


def test_the_reference_shows_the_machine_as_it_is() -> None:
    file = Path(__file__).parents[2] / "docs" / "reference" / "handoff.md"
    page = file.read_text(encoding="utf-8")

    drawn = mermaid.render(lifecycle_picture())
    assert in_golden_block(file, "handoff-diagram", f"```mermaid\n{drawn}\n```")
    for name, told in CHECKS.items():
        assert f"| `{name}` | {told} |" in page
