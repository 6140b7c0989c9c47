"""Nothing in a layout overlaps anything else, for any workflow."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from hypothesis import given
from support.drawn_workflows import FEW, ODD, sprawling

from flowrail.diagrams.extract import picture
from flowrail.diagrams.handoff import lifecycle_picture
from flowrail.diagrams.layout.layout import Layout, layout
from flowrail.diagrams.model import Picture
from flowrail.machines.workflow import Workflow


class Area(NamedTuple):
    """The area that a node or a label covers."""

    name: str
    left: float
    top: float
    right: float
    bottom: float

    def overlaps(self, other: Area) -> bool:
        """Return whether the two have more in common than an edge."""
        aside = self.right <= other.left + 0.3 or other.right <= self.left + 0.3
        return not aside and self.bottom > other.top + 0.3 and other.bottom > self.top + 0.3


def areas(drawn: Picture, drawing: Layout) -> list[Area]:
    nodes = [
        Area(
            node.id,
            placed.x - placed.box.width / 2,
            placed.y - placed.box.height / 2,
            placed.x + placed.box.width / 2,
            placed.y + placed.box.height / 2,
        )
        for node, placed in zip(drawn.nodes, drawing.nodes, strict=True)
    ]
    labels = [
        Area(
            line.label.text,
            line.label.x - line.label.width / 2,
            line.label.y - 9,
            line.label.x + line.label.width / 2,
            line.label.y + 9,
        )
        for line in drawing.lines
        if line.label is not None
    ]
    return nodes + labels


def check(drawn: Picture) -> None:
    drawing = layout(drawn)
    covered = areas(drawn, drawing)

    for first, second in combinations(covered, 2):
        assert not first.overlaps(second), (first, second)
    for area in covered:
        assert area.left >= 0, area
        assert area.top >= 0, area
        assert area.right <= drawing.width, area
        assert area.bottom <= drawing.height, area
    assert drawing == layout(drawn)


@FEW
@given(ODD)
def test_nothing_overlaps_and_everything_is_inside(definition: Workflow) -> None:
    check(picture(definition))


def test_two_hundred_steps_and_the_lifecycle_of_a_handoff_are_laid_out_too() -> None:
    check(picture(sprawling(200)))
    check(lifecycle_picture())
