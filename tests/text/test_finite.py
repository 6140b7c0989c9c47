"""Numbers and depths that JSON has, and those that it has not."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.forged import folder_of, signed
from support.sandbox import flow, home_skills, put_skill, refused, told
from support.workflows import step, workflow

from flowrail import advance, start
from flowrail.errors import FlowError
from flowrail.machines.definition.step import Outcome, StepContext
from flowrail.machines.sessions.session import Report
from flowrail.text import finite

LISTS = """\
name: NAME
params: {p: {type: list, default: []}}
steps:
  - {id: a, title: A, actions: [x], reports: {n: {type: number}, l: {type: list}}, next: {ok: b, fail: a}}
  - {id: b, title: B, actions: [x], next: {ok: null}}
"""
DEEP = "[" * 500 + "]" * 500
NO_NUMBERS = ["[1e999]", "[NaN]", "[-Infinity]", "[[[1e400]]]", DEEP, f"[{'9' * 60}]"]

plain = st.recursive(
    st.one_of(st.floats(), st.integers(-(10**30), 10**30), st.text(max_size=3), st.booleans(), st.none()),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=9,
)


@given(plain)
def test_what_can_be_kept_is_json_to_every_reader_and_the_same_when_it_is_read(value: Any) -> None:
    odd = finite.unkeepable(value)

    if odd is None:
        assert finite.read(json.dumps(value, allow_nan=False)) == value
    else:
        assert not all(map(math.isfinite, numbers_in(value)))


def numbers_in(value: Any) -> list[float]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [number for each in value for number in numbers_in(each)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("levels", [finite.DEEPEST - 1, finite.DEEPEST, finite.DEEPEST + 1, 100_000])
def test_depth_is_counted_without_going_down(levels: int) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value]

    assert (finite.unkeepable(value) is None) == (levels <= finite.DEEPEST)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": 1e999}', "[-1e999]", f"[{'9' * 400}.0]"])
def test_a_record_with_a_number_that_is_none_is_not_read(text: str) -> None:
    with pytest.raises(ValueError, match="is no number in JSON"):
        finite.read(text)


@pytest.mark.parametrize("said", NO_NUMBERS)
def test_no_value_that_json_has_not_gets_into_a_session(said: str) -> None:
    put_skill("lists", LISTS)
    session = told("start", "lists")["session"]
    Path("facts.json").write_text(f'{{"l": {said}}}')

    given_one_by_one = refused("step", "lists", "ok", "-s", f"l={said}")
    given_by_file = refused("step", "lists", "ok", "--facts", "facts.json")
    at_the_start = refused("start", "lists", "-p", f"p={said}")

    assert {status for status, _ in (given_one_by_one, given_by_file, at_the_start)} == {2}
    assert given_one_by_one[1]["code"] == at_the_start[1]["code"] == "BAD_VALUES"
    assert told("status", session)["revision"] == 0


@pytest.mark.parametrize("said", NO_NUMBERS)
def test_a_handoff_is_retried_with_such_a_value_as_a_text(said: str) -> None:
    put_skill("lists", LISTS)
    session = told("start", "lists")["session"]
    sent = refused("handoff", "send", "planner", "--session", session)[1]
    handoff = sent["details"]["handoff"]

    for value in (said, "plain"):
        again = refused("handoff", "retry", handoff, "-s", f"focus_areas={value}")[1]
        assert again["code"] == "INVALID_PAYLOAD", again
        assert "problem_type" in again["message"]


def test_a_handler_keeps_nothing_that_json_has_not() -> None:
    deep: list[Any] = []
    for _ in range(400):
        deep = [deep]
    for value in (math.inf, math.nan, deep, 10**60):

        def decide(_: StepContext, value: Any = value) -> tuple[Outcome, dict[str, Any]]:
            return Outcome.OK, {"kept": value}

        made = workflow(step("a", handler=decide, next={"ok": None}))
        with pytest.raises(FlowError, match="returned values"):
            advance(made, start(made), Report("done"))


def test_a_default_that_is_no_number_is_found_and_never_kept() -> None:
    text = """from flowrail import Arg, Outcome, StepDef, Workflow
WORKFLOW = Workflow("py", StepDef("a", "A", ["x"], next={Outcome.OK: None}), params={"p": Arg(default=EVIL)})
"""
    home = home_skills()
    for evil in ("float('inf')", "[1e999]"):
        put_skill("py", text.replace("EVIL", evil), file="workflow.py", where=home)

        assert flow("start", "py").status in {1, 2}
        assert told("sessions")["sessions"] == []
    assert flow("check", "py").status == 1


def test_a_record_with_infinity_is_damaged_though_it_is_signed() -> None:
    put_skill("lists", LISTS)
    session = str(told("start", "lists")["session"])
    journal = folder_of(session) / "journal.jsonl"
    record = json.loads(journal.read_bytes())
    record["session"]["state"] = {"l": [math.inf]}
    journal.write_bytes(signed(record))

    for words in (["history", session], ["resume", session], ["status", session]):
        assert refused(*words)[1]["code"] == "JOURNAL_DAMAGED"
    assert flow("verify", session).status == 1
