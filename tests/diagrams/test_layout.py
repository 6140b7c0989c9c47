"""Nothing in a layout overlaps anything else, for any workflow."""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

from hypothesis import given
from support.drawn_workflows import FEW, ODD, sprawling

from flowrail.diagrams.extract import picture
from flowrail.diagrams.layout.layout import Layout, layout
from flowrail.diagrams.model import Picture
from flowrail.machines.definition.workflow import Workflow


class Area(NamedTuple):
    """What something covers."""

    what: str
    left: float
    top: float
    right: float
    bottom: float

    def over(self, other: Area) -> bool:
        """Return whether the two have more in common than an edge."""
        aside = self.right <= other.left + 0.3 or other.right <= self.left + 0.3
        return not aside and self.bottom > other.top + 0.3 and other.bottom > self.top + 0.3


def areas(drawn: Picture, at: Layout) -> list[Area]:
    nodes = [
        Area(
            node.id,
            place.x - place.box.width / 2,
            place.y - place.box.height / 2,
            place.x + place.box.width / 2,
            place.y + place.box.height / 2,
        )
        for node, place in zip(drawn.nodes, at.nodes, strict=True)
    ]
    labels = [
        Area(
            line.label.text,
            line.label.x - line.label.width / 2,
            line.label.y - 9,
            line.label.x + line.label.width / 2,
            line.label.y + 9,
        )
        for line in at.lines
        if line.label is not None
    ]
    return nodes + labels


def check(drawn: Picture) -> None:
    at = layout(drawn)
    found = areas(drawn, at)

    for one, two in combinations(found, 2):
        assert not one.over(two), (one, two)
    for each in found:
        assert each.left >= 0, each
        assert each.top >= 0, each
        assert each.right <= at.width, each
        assert each.bottom <= at.height, each
    assert at == layout(drawn)


@FEW
@given(ODD)
def test_nothing_lies_over_anything_else_and_all_is_inside(made: Workflow) -> None:
    check(picture(made))


def test_two_hundred_steps_are_laid_out_too() -> None:
    check(picture(sprawling(200)))
