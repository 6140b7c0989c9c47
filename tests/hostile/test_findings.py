"""Findings in foreign documents take little time and memory, however many errors there are."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines.definition.findings import LARGEST_FOUND, MOST_FOUND, UnplacedFinding, first


def raw(message: str, count: int) -> Iterator[UnplacedFinding]:
    return (UnplacedFinding("FR100", (), message, "", step) for step in ["a"] * count)


def test_of_findings_as_many_are_told_as_are_little_together_and_one_of_each_rule() -> None:
    long = "x" * 1_000_000

    assert len([*first([raw("x", 2 * MOST_FOUND), raw("y", 3)])]) == MOST_FOUND + 3
    assert [each.message[0] for each in first([raw(long, 9), raw("y", 9), raw(long, 9)])] == [
        *"xx", *"y" * 9, *"x",
    ]  # fmt: skip
    assert 2 * len(long) < LARGEST_FOUND <= 3 * len(long)
