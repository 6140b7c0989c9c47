"""Records to plain data and back: nothing is coerced, nothing is passed over."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple, get_args, get_origin, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowrail.machines.definition.frozen import Frozen
from flowrail.machines.sessions.session import Move, Session
from flowrail.storage.records import RecordError, from_plain, to_plain

TEXT = st.text(max_size=8)
FACTS = st.dictionaries(TEXT, st.none() | st.booleans() | st.integers() | TEXT | st.lists(TEXT), max_size=3)
COUNTS = st.dictionaries(TEXT, st.integers(), max_size=3)
PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(),
    float: st.floats(allow_nan=False, allow_infinity=False),
    bool: st.booleans(),
    type(None): st.none(),
    Any: st.none() | st.integers() | TEXT,
    Mapping[str, Any]: FACTS,
    Mapping[str, int]: COUNTS,
}


def anything(kind: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for values of *kind*: a plain type, a record, a union, or a tuple of one of them."""
    if kind in PLAIN:
        return PLAIN[kind]
    if isinstance(kind, type) and hasattr(kind, "_fields"):
        return st.builds(kind, **{name: anything(of) for name, of in get_type_hints(kind).items()})
    if get_origin(kind) is tuple:
        return st.lists(anything(get_args(kind)[0]), max_size=2).map(tuple)
    if get_origin(kind) is Mapping:
        return st.dictionaries(TEXT, anything(get_args(kind)[1]), max_size=2)
    return st.one_of(*map(anything, get_args(kind)))


SESSIONS = anything(Session)
"""Sessions with anything in any part, whichever parts there are."""


@given(SESSIONS)
def test_a_session_comes_back_as_it_was(session: Session) -> None:
    data = json.loads(json.dumps(to_plain(session)))

    assert from_plain(data, Session) == session
    assert to_plain(from_plain(data, Session)) == data
    assert list(data) == list(Session._fields)


def plain() -> dict[str, Any]:
    session = Session(
        "a-abcdef", "a", "first", visits={"first": 1}, last=Move("x", "ok", "ok", None, {}, ("y",))
    )
    data: dict[str, Any] = json.loads(json.dumps(to_plain(session)))
    return data


def put(path: str, value: object) -> Callable[[dict[str, Any]], None]:
    def change(data: dict[str, Any]) -> None:
        *above, last = path.split(".")
        for name in above:
            data = data[name]
        data[last] = value

    return change


def drop(name: str) -> Callable[[dict[str, Any]], None]:
    return lambda data: data.pop(name)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (put("colour", "red"), "unknown colour @ $"),
        (put("last.colour", "red"), "unknown colour @ $.last"),
        (drop("skill"), "skill is missing @ $.skill"),
        (lambda data: data["last"].pop("step"), "step is missing @ $.last.step"),
        (put("id", 7), "is int, not str @ $.id"),
        (put("id", None), "is null, not str @ $.id"),
        (put("revision", "1"), "is str, not int @ $.revision"),
        (put("revision", True), "is bool, not int @ $.revision"),
        (put("revision", 1.0), "is float, not int @ $.revision"),
        (put("last.capped", 1), "is int, not bool @ $.last.capped"),
        (put("params", []), "is list, not a mapping @ $.params"),
        (put("visits", {"first": "1"}), "has str at 'first', not int @ $.visits"),
        (put("visits", {"first": True}), "has bool at 'first', not int @ $.visits"),
        (put("last.skipped", "abc"), "is str, not a list of texts @ $.last.skipped"),
        (put("last.skipped", [1]), "is list, not a list of texts @ $.last.skipped"),
        (put("last", []), "is list, not a mapping @ $.last"),
        (put("step", 3), "is int, not str @ $.step"),
        (put("dispatches", 3), "$.dispatches"),
        (put("dispatches", ["x"]), "is str, not a mapping @ $.dispatches[0]"),
        (put("dispatches", "x" * 100), "is str, not a list @ $.dispatches"),
        (put("findings", {"x": 1}), "is dict, not a list @ $.findings"),
        (put("last.answers", None), "is null, not a list @ $.last.answers"),
    ],
)
def test_what_does_not_fit_is_refused_with_its_path(change: Callable[[Any], Any], expected: str) -> None:
    data = plain()
    change(data)

    with pytest.raises(RecordError) as caught:
        from_plain(data, Session)

    assert len(caught.value.problems) == 1
    assert expected in caught.value.problems[0]


def test_every_place_that_does_not_fit_is_named() -> None:
    data = plain()
    put("revision", "x")(data)
    put("last.at", 3)(data)
    put("colour", 1)(data)

    with pytest.raises(RecordError) as caught:
        from_plain(data, Session)

    assert [each.partition("@ ")[2] for each in caught.value.problems] == ["$.revision", "$.last.at", "$"]
    assert str(caught.value).startswith("no session: ")


def test_of_very_many_places_the_first_are_named() -> None:
    data = plain()
    put("dispatches", [1] * 50_000)(data)
    put("last", {f"{number:05}" + "x" * 200: 1 for number in range(50_000)})(data)
    put("visits", {"x" * 50_000: "1"})(data)

    with pytest.raises(RecordError) as caught:
        from_plain(data, Session)

    places = [each.partition("@ ")[2] for each in caught.value.problems]
    assert [each for each in places if "dispatches" in each] == [f"$.dispatches[{n}]" for n in range(10)]
    assert "and 49990 more @ $.last" in str(caught.value)
    assert len(str(caught.value)) < 3_000


@pytest.mark.parametrize("data", [None, [], "text", 3, {}])
def test_what_is_no_record_at_all_is_refused(data: object) -> None:
    with pytest.raises(RecordError):
        from_plain(data, Session)


def test_frozen_values_become_plain_ones() -> None:
    session = Session("a", "a", "b", params=Frozen(deep=Frozen(list=(1, 2))))

    assert json.loads(json.dumps(to_plain(session)))["params"] == {"deep": {"list": [1, 2]}}


def test_keys_that_are_missing_take_their_defaults() -> None:
    assert from_plain({"id": "a", "skill": "b", "step": None}, Session) == Session("a", "b", None)


class Odd(NamedTuple):
    of: Fraction


def test_a_type_that_nothing_here_uses_is_named_too() -> None:
    with pytest.raises(RecordError, match="no odd: is no"):
        from_plain({"of": "x"}, Odd)
