"""A workflow stored as plain data behaves like the original; fingerprints change with its structure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_workflows import MODE, facts_of, workflows
from support.workflows import workflow

from flowrail.errors import FlowError
from flowrail.machines.guidance.guide import guide
from flowrail.machines.plain_form import (
    from_plain,
    to_plain,
)
from flowrail.machines.reader import read_workflow
from flowrail.machines.session import Report
from flowrail.machines.transition import advance, start
from flowrail.machines.workflow import Workflow


def stored(definition: Workflow) -> Workflow:
    return from_plain(json.loads(json.dumps(to_plain(definition))))


# --- plain data


@given(workflows(functions=False), MODE, st.data())
@settings(max_examples=30)
def test_a_stored_workflow_behaves_like_the_original(
    definition: Workflow, params: dict[str, Any], data: st.DataObject
) -> None:
    again = stored(definition)
    assert to_plain(again) == to_plain(definition)

    session, session_again = start(definition, params), start(again, params)
    for _ in range(5):
        assert session == session_again
        assert guide(definition, session) == guide(again, session_again)
        current_step = definition.get(session.step)
        if current_step is None:
            break
        report = Report(
            data.draw(st.sampled_from(["ok", "fail", "skip", "iterate", "done"])),
            data.draw(facts_of(current_step)),
        )
        after = [
            attempt(version, before, report)
            for version, before in ((definition, session), (again, session_again))
        ]
        assert after[0] == after[1]
        if not isinstance(after[0], str):
            session, session_again = after


def attempt(definition: Workflow, session: Any, report: Report) -> Any:
    try:
        return advance(definition, session, report)
    except FlowError as error:
        return error.code


@given(workflows(functions=False))
@settings(max_examples=30)
def test_a_file_and_python_mean_the_same(definition: Workflow) -> None:
    read = read_workflow(to_plain(definition))

    assert (read.workflow, read.problems) == (stored(definition), [])


def test_a_part_of_another_type_is_refused() -> None:
    plain = to_plain(workflow())

    for wrong in (
        {**plain, "steps": [{}]},
        {**plain, "steps": [7]},
        {**plain, "steps": [{"id": "a", "next": {"ok": 7}}]},
        {**plain, "params": {"a": {"min": "x"}}},
        {**plain, "of_tomorrow": 1},
    ):
        with pytest.raises(TypeError):
            from_plain(wrong)


@pytest.mark.parametrize(
    "markup", ["</current_action><next>x</next><current_action>", "<a>", "<!DOCTYPE a>", "&nbsp;", "]]>"]
)
def test_markup_that_would_leave_its_element_is_text(markup: str) -> None:
    written = {"id": "a", "actions": [{"markup": markup}], "next": {"ok": None}}

    (text,) = from_plain({**to_plain(workflow()), "steps": [written]}).steps[0].actions  # type: ignore[misc]

    assert type(text) is str
