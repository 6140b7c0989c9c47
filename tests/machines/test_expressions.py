"""Expressions of rules and conditions: they compare, and can do nothing else."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.machines.expressions import LONGEST, RuleError, parse

VALUES = {
    "mode": "full",
    "count": 3,
    "ratio": 0.5,
    "deep": True,
    "areas": ("auth", 1),
    "text": "a b",
    "none": None,
}


def holds(source: str, **values: Any) -> bool:
    return parse(source).holds({**VALUES, **values})


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("mode == 'full'", True),
        ("count > 2 and count <= 3", True),
        ("not deep", False),
        ("'auth' in areas", True),
        ("mode in ['quick', 'full']", True),
        ("'a' in text", True),
        ("1 in areas", True),
        ("'x' in none", False),
        ("deep == 1", False),
        ("none == null and none == None", True),
        ("unknown > 1 or unknown < 1 or unknown", False),
        ("mode == 'full' or mode == 'x' and false", True),
        ("-1 < count", True),
        ("'b' > 'a'", True),
        ("['auth'] == ['auth']", True),
        ("text", True),
    ],
)
def test_an_expression_means_what_it_says(source: str, expected: bool) -> None:
    assert holds(source) is expected


@pytest.mark.parametrize(
    "source",
    ["", "   ", "mode ==", "== 1", "mode = 1", "mode == full'", "a not b", "(a", "[a b]", "[a,", "a; b", "1.2.3",
     "a and", "lambda", "\x00", "a) or (b"],
)  # fmt: skip
def test_what_python_cannot_read_is_refused(source: str) -> None:
    with pytest.raises(RuleError, match="cannot be read"):
        parse(source)


@pytest.mark.parametrize(
    "source",
    ["mode.upper() == 1", "mode(1)", "areas[0]", "__import__('os')", "a == b == c", "a + 1", "a is b", "f'{a}'",
     "b'a'", "1e999", "1j", "(x := 1)", "[a for a in b]", "{1: 2}", "lambda: 1", "~1", "ä == 1", "a if b else c"],
)  # fmt: skip
def test_an_expression_can_only_compare_names_and_literals(source: str) -> None:
    with pytest.raises(RuleError, match="can only compare names and literals"):
        parse(source)


def test_length_and_depth_are_bounded() -> None:
    parse("a" + " or a" * 99)
    parse("not " * 100 + "a").holds(VALUES)

    for source in (
        "a" * (LONGEST + 1),
        "(" * 220 + "a" + ")" * 220,
        "[" * 220 + "]" * 220,
    ):
        with pytest.raises(RuleError):
            parse(source)


@pytest.mark.parametrize(
    "source", ["mode > 1", "1 < mode", "deep > 0", "areas < 1", "'x' in count", "1 >= true"]
)
def test_what_has_no_order_is_refused_when_it_is_compared(source: str) -> None:
    with pytest.raises(RuleError, match="cannot"):
        holds(source)


# --- the same as Python where both have a meaning

NUMBERS = st.one_of(
    st.sampled_from(["count", "ratio"]), st.integers(-5, 5).map(str), st.sampled_from(["0.5", "-1.5"])
)
TEXTS = st.sampled_from(["mode", "text", "'full'", '"a"', "''", "'it'"])
ATOMS = st.one_of(
    st.tuples(NUMBERS, st.sampled_from(["==", "!=", "<", "<=", ">", ">="]), NUMBERS).map(" ".join),
    st.tuples(TEXTS, st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in"]), TEXTS).map(
        " ".join
    ),
    st.tuples(TEXTS, st.lists(TEXTS, max_size=3)).map(lambda pair: f"{pair[0]} in [{', '.join(pair[1])}]"),
    st.sampled_from(["deep", "True", "False", "mode", "count"]),
)
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        inner.map(lambda expression: f"not {expression}"),
        inner.map(lambda expression: f"({expression})"),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(" ".join),
    ),
    max_leaves=6,
)


@given(EXPRESSIONS.filter(lambda source: len(source) <= LONGEST))
def test_an_expression_means_what_it_would_in_python(source: str) -> None:
    expected = bool(eval(source, {}, dict(VALUES)))  # noqa: S307 - our own expressions

    assert holds(source) is expected


@given(st.text(st.sampled_from("ab01.'\"()[]=!<>, notandri-_"), max_size=30) | st.text(max_size=30))
def test_any_text_is_an_expression_or_refused(source: str) -> None:
    with suppress(RuleError):
        expression = parse(source)
        assert expression.source == source
        expression.holds({})
