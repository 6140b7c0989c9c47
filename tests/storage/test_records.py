"""Records are converted to plain data and back without changing a type or ignoring a key."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any, get_args, get_origin, get_type_hints

from hypothesis import given
from hypothesis import strategies as st

from flowrail.machines.session import Move, Session
from flowrail.storage.converter import from_plain, to_plain

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
    if is_dataclass(kind) or hasattr(kind, "_fields"):
        return st.builds(kind, **{name: anything(of) for name, of in get_type_hints(kind).items()})
    if get_origin(kind) in (tuple, Sequence):
        return st.lists(anything(get_args(kind)[0]), max_size=2).map(tuple)
    if get_origin(kind) is Mapping:
        return st.dictionaries(TEXT, anything(get_args(kind)[1]), max_size=2)
    return st.one_of(*map(anything, get_args(kind)))


SESSIONS = anything(Session)
"""Sessions with any value in any part."""


@given(SESSIONS)
def test_a_session_comes_back_as_it_was(session: Session) -> None:
    data = json.loads(json.dumps(to_plain(session)))

    assert from_plain(data, Session) == session
    assert to_plain(from_plain(data, Session)) == data
    assert list(data) == [field.name for field in fields(Session)]


def plain() -> dict[str, Any]:
    session = Session(
        "a-abcdef", "a", "first", visits={"first": 1}, last=Move("x", "ok", "ok", None, {}, ("y",))
    )
    data: dict[str, Any] = json.loads(json.dumps(to_plain(session)))
    return data
