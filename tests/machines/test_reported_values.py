"""Declared values: their kinds and bounds, read from a command line, and what they are made of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from support.workflows import step, unchecked

from flowrail.machines.checks.check import check
from flowrail.machines.plain_form import from_plain, to_plain
from flowrail.machines.reported_values import ValuesError, read_values
from flowrail.machines.values import Arg

# --- kinds


@pytest.mark.parametrize(
    ("arg", "kind"),
    [
        (Arg(), "string"),
        (Arg(type="list"), "list"),
        (Arg(choices=("a", "b")), "string"),
        (Arg(choices=(1, 2)), "integer"),
        (Arg(default=True), "boolean"),
        (Arg(default=[]), "list"),
        (Arg(min=1), "integer"),
        (Arg(min=1, max=2.5), "number"),
        (Arg(min_length=1), "string"),
    ],
)
def test_a_kind_follows_from_what_is_declared(arg: Arg, kind: str) -> None:
    assert arg.kind == kind


@pytest.mark.parametrize(
    ("arg", "value", "problem"),
    [
        (Arg(), "x", None),
        (Arg(), 1, "takes text, not 1"),
        (Arg(type="integer"), True, "takes a whole number, not True"),
        (Arg(type="number"), False, "takes a number, not False"),
        (Arg(type="list"), "a", "takes a list, not `a`"),
        (Arg(type="list"), ("a",), None),
        (Arg(choices=(1, 2)), True, "takes a whole number, not True"),
        (Arg(type="list", choices=("a", "b")), ["a", "c"], "takes one of `a`, `b`, not `c`"),
        (Arg(type="list", choices=("a", "b")), ["a", "b", "a"], "has `a` twice"),
        (Arg(min=2), 1, "is at least 2, not 1"),
        (Arg(max=2), 3, "is at most 2, not 3"),
        (Arg(required=True, min_length=0), "", None),
        (Arg(min_length=2), "a", "must have at least 2 characters, not 1"),
        (Arg(), 10**80, f"takes text, not {'1' + '0' * 58}…"),
    ],
)
def test_a_value_is_judged_and_never_coerced(arg: Arg, value: Any, problem: str | None) -> None:
    assert arg.problem(value) == problem


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("string", " a,b ", " a,b "),
        ("integer", "-12", -12),
        ("number", "12", 12),
        ("number", "1.5", 1.5),
        ("number", "1e3", 1000.0),
        ("number", f"0.{'5' * 60}", 5 / 9),
        ("boolean", "Yes", True),
        ("boolean", "off", False),
        ("list", "a, b,,c", ["a", "b", "c"]),
        ("list", "", []),
        ("list", ' ["a, b", 1, null]', ["a, b", 1, None]),
    ],
)
def test_a_text_is_read_as_its_kind(kind: Any, text: str, value: Any) -> None:
    read = Arg(type=kind).read(text)

    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("arg", "text", "problem"),
    [
        (Arg(type="integer"), "1.5", "takes a whole number, not 1.5"),
        (Arg(type="integer"), "1" * 41, "holds an integer of more than 40 digits"),
        (Arg(type="number"), "nan", "takes a number, not `nan`"),
        (Arg(type="number"), "1e999", "takes a number, not `1e999`"),
        (Arg(type="boolean"), "maybe", "takes true or false, not `maybe`"),
        (Arg(type="list"), "[a", "takes a list as JSON"),
        (Arg(type="list"), "[" * 100_000, "takes a list as JSON"),
        (Arg(choices=("a",)), "b" * 100, f"takes one of `a`, not `{'b' * 58}…"),
        (Arg(max=3), "4", "is at most 3, not 4"),
    ],
)
def test_a_text_that_does_not_fit_is_refused(arg: Arg, text: str, problem: str) -> None:
    with pytest.raises(ValueError, match=r"takes|is at most|holds") as caught:
        arg.read(text)

    assert problem in str(caught.value)


KINDS = st.sampled_from(["string", "integer", "number", "boolean", "list"])
ARGS = st.builds(
    Arg,
    type=st.none() | KINDS,
    min=st.none() | st.integers(-3, 3) | st.sampled_from([0.5, -0.5]),
    max=st.none() | st.integers(-3, 9),
    min_length=st.none() | st.integers(0, 3),
    max_length=st.none() | st.integers(0, 3),
    choices=st.none() | st.lists(st.integers(0, 2), min_size=1, max_size=3).map(tuple) | st.just(("a", "b")),
    default=st.sampled_from(["a", 1, True, 0.5, ["x"], None]),
    example=st.sampled_from(["a", 1, None, ["x"]]),
)


@given(ARGS)
@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most are out of order
def test_a_sample_fits_wherever_the_declaration_is_in_order(arg: Arg) -> None:
    assume(not check(unchecked(step(reports={"fact": arg}))))

    assert arg.problem(arg.sample()) is None


@given(ARGS)
def test_a_declaration_comes_back_from_plain_data(arg: Arg) -> None:
    plain = json.loads(json.dumps(to_plain(arg)))
    again = from_plain({"name": "a", "steps": [], "params": {"fact": plain}}).params["fact"]

    assert json.loads(json.dumps(to_plain(again))) == plain
    for value in (None, "a", "b", 0, 1, 3.5, True, ["x"], [], "xxxx"):
        assert again.problem(value) == arg.problem(value)


# --- parameters and facts


def test_all_values_that_do_not_fit_are_refused_at_once_with_their_bounds() -> None:
    declared = {
        "sure": Arg(min=0, max=10, required=True),
        "name": Arg(min_length=1),
        "areas": Arg(type="list", max_length=2),
        "mode": Arg(choices=("quick",)),
    }

    with pytest.raises(ValuesError) as caught:
        read_values({"sure": "11", "name": "", "areas": "a,b,c", "mode": "full"}, declared)

    assert caught.value.details["problems"] == [
        "`sure` is at most 10, not 11",
        "`name` must have at least 1 character, not 0",
        "`areas` must have at most 2 items, not 3",
        "`mode` takes one of `quick`, not `full`",
    ]
    assert str(caught.value.hint) == (
        "give `sure=INTEGER` (0 to 10), `name=STRING` (at least 1 character, optional), "
        "`areas=LIST` (at most 2 items, optional), `mode=quick` (optional)"
    )
