"""What is found in a stranger's documents takes little to find, to keep and to tell, however much is wrong."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.counting import calls_of
from support.sandbox import flow, put_skill

from flowrail.machines.checks.prose import _without_fences
from flowrail.machines.definition import expressions
from flowrail.machines.definition.findings import (
    LARGEST_FOUND,
    MOST_FOUND,
    Raw,
    first,
)
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.exploration import actions
from flowrail.machines.loading.python_source import read_python
from flowrail.operations.skills import check
from flowrail.skills.card_checks import _table

FENCED = re.compile(r"^ {0,3}(`{3,}(?!`)|~{3,}(?!~))(?!flow:).*?^ {0,3}\1", re.DOTALL | re.MULTILINE)
"""What a fence is; read so, a text of marks of which each is shorter than the last takes its square."""


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


def test_the_review_that_gates_name_wrong_is_guessed_as_far_as_they_are_few() -> None:
    steps = "".join(
        f"- {{id: s{n}, title: A, actions: [x], gate: {{name: G, review: t{n}}}, next: {{ok: z, fail: z}}}}\n"
        for n in range(400)
    )
    folder = put_skill(
        "evil", f"name: NAME\nsteps:\n{steps}- {{id: z, title: Z, actions: [x], next: {{ok: null}}}}\n"
    )

    assert calls_of(partial(check.check, [str(folder)], [], "."), "near") < 60


def test_what_many_steps_name_and_nobody_reads_is_written_out_once() -> None:
    def work(count: int) -> int:
        many = ", ".join(f"StepDef('a{n}', 'A', X, next={{}})" for n in range(count))
        text = f"X = [{'a, ' * 500}].x\nWORKFLOW = Workflow('evil', {many})\n".encode()
        return calls_of(partial(read_python, text, "evil", "workflow.py"), "visit_Name")

    assert work(80) - work(40) == 40


@given(
    st.lists(
        st.sampled_from(["```", "~~~", "````", "~", "`", "\n", "\n", "\n", " ", "flow:x", "a", "    "])
    ).map("".join)
)
def test_fences_are_taken_out_as_the_one_expression_that_says_what_they_are_does(text: str) -> None:
    assert _without_fences(text) == FENCED.sub("", text)


def test_fences_that_are_never_closed_are_not_looked_for_from_each_of_them() -> None:
    def text(count: int) -> str:
        return "".join("`" * n + "\n" for n in range(count, 2, -1))

    few, many = (calls_of(partial(_without_fences, text(size)), below=True) for size in (100, 200))

    assert many < 2.2 * few
    assert _without_fences(text(100)) == text(100)


WALKED: list[object] = []


class Walked(tuple[StepDef, ...]):
    """Steps that count how often all of them are gone through."""

    __slots__ = ()

    def __iter__(self) -> Iterator[StepDef]:
        WALKED.append(self)
        return super().__iter__()


def test_a_table_of_steps_is_judged_without_going_through_the_steps_for_each_row() -> None:
    made = Workflow(
        "evil", *[StepDef(f"s{n}", "-", ["x"], next={"ok": None}) for n in range(20)], validate=False
    )
    object.__setattr__(made, "steps", Walked(made.steps))
    rows = "|step|transitions|\n|-|-|\n" + "|-|ok → end|\n" * 19 + "|-|ok → s3|\n"

    told = [*_table(made, f"<!-- flow:steps -->\n{rows}<!-- /flow:steps -->\n")]

    assert [each.step for each in told] == ["s19"]
    assert 0 < len(WALKED) < 5


def conditions(count: int, condition: str) -> Path:
    """Put a workflow of that many steps, each with a variant of which the condition is another."""
    steps = "".join(
        f"- {{id: s{n}, title: A, actions: [x], variants: [{{when: '{condition.replace('N', str(n))}', actions: [y]}}], "
        f"next: {{ok: {to}}}}}\n"
        for n, to in enumerate([*(f"s{n}" for n in range(1, count)), "null"])
    )
    return put_skill(
        "evil",
        f"name: NAME\nparams: {{p: {{type: integer, default: 1}}}}\nsteps:\n{steps}",
        file="workflow.yaml",
    )


def test_an_expression_is_read_once_for_all_rules_of_a_check() -> None:
    folder = conditions(400, f"p == N{' or p' * 70}")

    assert calls_of(partial(check.check, [str(folder)], [], "."), "_parsed") == 400


def test_what_is_read_is_kept_up_to_a_bound() -> None:
    kept = expressions._Kept()
    long = [expressions._parsed(f"p == '{n:04}{'x' * 480}'") for n in range(2_100)]

    for each in long:
        kept.add(each)

    assert sum(map(len, kept)) <= expressions.MOST_KEPT
    assert kept[long[-1].source] is long[-1]
    assert expressions.parse(long[0].source) is expressions.parse(long[0].source)


@pytest.mark.parametrize(
    ("part", "most"), [(" or p == 1", 2.2), (" or p == 1 and p", 2.2)], ids=["one beside another", "both"]
)
def test_what_is_compared_in_a_long_condition_is_looked_for_once(part: str, most: float) -> None:
    def work(count: int) -> int:
        trees = expressions.parse(f"p == 1{part * count}").tree
        return calls_of(lambda: [*actions._compared(trees)], "_leaves")

    assert work(24) < most * work(12)


def test_names_and_literals_that_stand_beside_each_other_are_yielded_together() -> None:
    tree = expressions.parse("[p, q, p] == [1, 'x', 1] or not (p < 2)").tree

    assert [([*names], [*values]) for names, values in actions._compared(tree)] == [
        (["p", "q"], [1, "x"]),
        (["p"], [2]),
    ]
