"""Only the compiled class decides whether a step accepts an outcome."""

from __future__ import annotations

import pytest
from support.sandbox import put_skill, refused, told

from flowrail.machines import statechart
from flowrail.machines.statechart import WorkflowMachine

TWO_OUTCOMES = """\
name: NAME
steps:
  - {id: first, title: First, actions: [Do it.], next: {ok: second, fail: null}}
  - {id: second, title: Second, actions: [Do it.], next: {ok: null}}
"""


def test_an_outcome_whose_transition_is_removed_is_refused_and_not_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    put_skill("two", TWO_OUTCOMES)
    build = statechart._build

    def without_fail(workflow: object) -> type[WorkflowMachine]:
        machine = build(workflow)  # type: ignore[arg-type]
        compiled = machine.states_map["first"].transitions.transitions
        compiled[:] = [
            transition for transition in compiled if "report_fail" not in map(str, transition.events)
        ]
        return machine

    monkeypatch.setattr(statechart, "_build", without_fail)
    begun = told("step", "two", "--new")

    status, error = refused("step", "two", "fail")

    assert [transition["outcome"] for transition in begun["next"]] == ["ok"]
    assert (status, error["code"]) == (4, "OUTCOME_NOT_OPEN")
