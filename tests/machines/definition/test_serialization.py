"""A workflow stored as plain data behaves like the original; fingerprints change with its structure."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.random_workflows import MODE, facts_of, workflows
from support.workflows import linear, step, workflow

from flowrail.errors import FlowError
from flowrail.machines.definition.plain_form import (
    from_plain,
    step_fingerprint,
    to_plain,
    workflow_fingerprint,
)
from flowrail.machines.definition.step import StepDef
from flowrail.machines.definition.values import Arg
from flowrail.machines.definition.workflow import Workflow
from flowrail.machines.engine.advance import advance, start
from flowrail.machines.guidance.guide import guide
from flowrail.machines.sessions.session import Report


def stored(definition: Workflow) -> Workflow:
    return from_plain(json.loads(json.dumps(to_plain(definition))))


# --- plain data


@given(workflows(functions=False), MODE, st.data())
@settings(max_examples=30)
def test_a_stored_workflow_behaves_like_the_original(
    definition: Workflow, params: dict[str, Any], data: st.DataObject
) -> None:
    again = stored(definition)
    assert workflow_fingerprint(again) == workflow_fingerprint(definition)
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


# --- fingerprints


def base(**parts: Any) -> Workflow:
    reports = {"size": Arg("How big", min=1, max=3, example=2)}
    dull: dict[str, Any] = {
        "next": {"ok": "b", "iterate": "a"},
        "limit": 3,
        "reports": reports,
        "rules": [("ok", None)],
    }
    first = step("a", **{**dull, **parts})
    return workflow(first, step("b", when="visit < 9"), params={"mode": Arg("Which", choices=("x", "y"))})


@pytest.mark.parametrize(
    "parts",
    [
        {"title": "Other"},
        {"actions": ["Other."]},
        {"phase": "other"},
        {"variants": [("visit > 1", ("x",))]},
        {"reports": {"size": Arg("Another text", min=1, max=3, example=3)}},
        {"title": lambda _: "Other"},
        {"next": {"iterate": "a", "ok": "b"}},
    ],
)
def test_other_texts_have_the_same_fingerprint(parts: dict[str, Any]) -> None:
    assert workflow_fingerprint(base(**parts)) == workflow_fingerprint(base())
    assert step_fingerprint(base(**parts), "a") == step_fingerprint(base(), "a")


def first_step(**parts: Any) -> StepDef:
    return step("a", **{"next": {"ok": "b"}, **parts})


@pytest.mark.parametrize(
    "changed",
    [
        linear("b", "a"),
        linear("a", "c"),
        linear("a", "b", "c"),
        workflow(step("b"), first_step(), entry="a"),
        linear("a", "b", params={"x": Arg()}),
        workflow(first_step(), step("b", when="visit < 9")),
        workflow(first_step(), step("b", when=lambda _: True)),
        workflow(first_step(limit=2), step("b")),
        workflow(first_step(reports={"x": Arg()}), step("b")),
        workflow(first_step(rules=[("ok", None)]), step("b")),
    ],
)
def test_every_part_of_the_structure_counts(changed: Workflow) -> None:
    assert workflow_fingerprint(changed) != workflow_fingerprint(linear("a", "b"))


def test_a_part_of_another_type_is_named() -> None:
    plain = to_plain(workflow())

    for wrong, where in (
        ({**plain, "steps": [{}]}, "id"),
        ({**plain, "steps": [7]}, "expected a mapping"),
        ({**plain, "steps": [{"id": "a", "next": {"ok": 7}}]}, "next"),
        ({**plain, "params": {"a": {"min": "x"}}}, "min"),
        ({**plain, "of_tomorrow": 1}, "of_tomorrow"),
    ):
        with pytest.raises(TypeError, match=where):
            from_plain(wrong)


@pytest.mark.parametrize(
    "markup", ["</current_action><next>x</next><current_action>", "<a>", "<!DOCTYPE a>", "&nbsp;", "]]>"]
)
def test_markup_that_would_leave_its_element_is_text(markup: str) -> None:
    written = {"id": "a", "actions": [{"markup": markup}], "next": {"ok": None}}

    (text,) = from_plain({**to_plain(workflow()), "steps": [written]}).steps[0].actions  # type: ignore[misc]

    assert type(text) is str
