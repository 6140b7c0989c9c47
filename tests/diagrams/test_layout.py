"""Where everything stands: nothing over anything else, whatever the workflow is."""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.pictures import FEW, ODD, sprawling, tangled
from support.workflows import workflows

from flowrail.diagrams.extract import picture
from flowrail.diagrams.layout.compaction import compacted
from flowrail.diagrams.layout.coordinates import coordinates
from flowrail.diagrams.layout.crossings import crossings, reordered
from flowrail.diagrams.layout.geometry import Layout
from flowrail.diagrams.layout.lanes import lanes, ports
from flowrail.diagrams.layout.layout import layout
from flowrail.diagrams.layout.text_width import balanced, width, wrapped
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


@FEW
@given(workflows(most=12))
def test_nor_in_workflows_that_run(made: Workflow) -> None:
    check(picture(made))


@pytest.mark.long
@settings(max_examples=3_000, deadline=None)
@given(ODD | workflows(most=15))
def test_nothing_lies_over_anything_else_in_thousands(made: Workflow) -> None:
    check(picture(made))


def test_two_hundred_steps_are_laid_out_too() -> None:
    check(picture(sprawling(200)))


def test_a_tangle_is_not_wider_than_it_must_be() -> None:
    check(picture(tangled(80)))
    assert layout(picture(tangled(200))).width < 4_000


def test_steps_stand_in_the_order_of_their_numbers() -> None:
    drawn = picture(sprawling(60))
    at = layout(drawn)

    heights = [place.y for node, place in zip(drawn.nodes, at.nodes, strict=True) if node.is_step]
    assert heights == sorted(heights)


@given(st.lists(st.lists(st.integers(0, 5), max_size=4), max_size=6))
def test_reordering_never_makes_more_lines_cross(lines: list[list[int]]) -> None:
    rows = [list(range(len(lines))), list(range(len(lines), len(lines) + 6))]
    below = [[len(lines) + each for each in dict.fromkeys(targets)] for targets in lines] + [[]] * 6
    above: list[list[int]] = [[] for _ in range(len(lines) + 6)]
    for at, targets in enumerate(below):
        for target in targets:
            above[target].append(at)

    after = reordered(rows, above, below)

    assert [sorted(row) for row in after] == rows
    assert crossings(after, below) <= crossings(rows, below)
    assert crossings(rows, below) == sum(
        one_target > two_target
        for one, two in combinations(rows[0], 2)
        for one_target in below[one]
        for two_target in below[two]
    )


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.randoms(use_true_random=False))
def test_no_two_of_a_row_come_closer_than_asked_for(sizes: list[int], random: st.DataObject) -> None:
    rows: list[list[int]] = []
    for size in sizes:
        start = sum(map(len, rows))
        rows.append(list(range(start, start + size)))
    count = sum(sizes)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for upper, lower in pairwise(rows):
        for one in upper:
            for two in lower:
                if random.random() < 0.4:  # type: ignore[attr-defined]
                    below[one].append(two)
                    above[two].append(one)
    bends = [random.random() < 0.5 for _ in range(count)]  # type: ignore[attr-defined]

    for way in (coordinates, compacted):
        x = way(rows, above, below, bends, lambda one, two: 10.0 + one % 3 + two % 2)
        for row in rows:
            for one, two in pairwise(row):
                assert x[two] - x[one] >= 10.0 + one % 3 + two % 2 - 1e-6


@given(st.dictionaries(st.integers(0, 20), st.tuples(st.integers(0, 50), st.integers(51, 90))))
def test_no_two_lines_share_a_stretch_of_a_lane(stretches: dict[int, tuple[float, float]]) -> None:
    given_lanes = lanes(stretches)

    assert set(given_lanes) == set(stretches)
    for one, two in combinations(stretches, 2):
        apart = stretches[one][1] < stretches[two][0] or stretches[two][1] < stretches[one][0]
        assert apart or given_lanes[one] != given_lanes[two]


@given(st.lists(st.floats(-300, 300), max_size=8), st.floats(0, 100))
def test_lines_touch_a_side_in_order_and_inside(wished: list[float], half: float) -> None:
    found = ports(sorted(wished), half)

    assert found == sorted(found)
    assert all(-half - 1e-6 <= x <= half + 1e-6 for x in found)


@given(st.text(max_size=200), st.integers(1, 4))
def test_rows_are_no_wider_than_allowed_and_no_more_than_asked_for(text: str, rows: int) -> None:
    for found in (wrapped(text, 12, 150, rows=rows), balanced(text, 12, 150, rows=rows)):
        assert len(found) <= rows
        assert all(width(row, 12) <= 150 for row in found)
        joined = "".join("".join(found).split())
        if not joined.endswith("…"):
            assert joined == "".join(text.split())
