"""What is found in a stranger's documents takes little to find, to keep and to tell, however much is wrong."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.sandbox import flow, put_skill

from flowrail.machines.definition.findings import (
    LARGEST_FOUND,
    MOST_FOUND,
    Raw,
    first,
)

LONG_ID = (
    f"steps:\n- {{id: {'a' * 60_000}, title: A, next: {{ok: null}}, "
    f"actions: ['{' '.join(f'$x{n}' for n in range(900))}']}}\n"
)
LONG_NAME = (
    f"params:\n  ? {'a' * 60_000}\n  : {{{', '.join(f'x{n}: 1' for n in range(900))}}}\nsteps:\n"
    "- {id: a, title: A, next: {ok: null}, actions: [x]}\n"
)
GIVING_NOTHING = "steps:\n" + "".join(
    f"- {{id: s{n}, title: A, actions: [x], dispatch: {{agent: explore, run: evil/w}}, next: {{ok: {to}}}}}\n"
    for n, to in enumerate([*(f"s{n}" for n in range(1, 300)), "null"])
)


def raw(message: str, count: int) -> Iterator[Raw]:
    return (Raw("FR100", (), message, "", step) for step in ["a"] * count)


def test_of_findings_as_many_are_told_as_are_little_together_and_one_of_each_rule() -> None:
    long = "x" * 1_000_000

    assert len([*first([raw("x", 2 * MOST_FOUND), raw("y", 3)])]) == MOST_FOUND + 3
    assert [each.message[0] for each in first([raw(long, 9), raw("y", 9), raw(long, 9)])] == [
        *"xx", *"y" * 9, *"x",
    ]  # fmt: skip
    assert 2 * len(long) < LARGEST_FOUND <= 3 * len(long)


@pytest.mark.parametrize(
    "text",
    [LONG_ID, LONG_NAME, GIVING_NOTHING],
    ids=["of a long id", "of a long name", "of many steps"],
)
def test_what_is_told_of_a_workflow_is_bounded(text: str) -> None:
    params = ", ".join(f"p{n}: {{required: true}}" for n in range(300))
    inner = f"name: evil/w\nparams: {{{params}}}\nsteps: [{{id: a, title: A, actions: [x], next: {{ok: null}}}}]\n"
    put_skill("evil", f"name: NAME\n{text}", texts={"workflows/w.yaml": inner})

    ran = flow("check", "evil", "--json")

    assert ran.status == 1
    assert 10 < len(ran.data["findings"]) <= MOST_FOUND + 10
    assert len(ran.out) < 4_000_000
