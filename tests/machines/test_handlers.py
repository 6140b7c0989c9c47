"""Handlers, facts and parameters: one test for each rule about reading and changing values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

import pytest
from support.workflows import step, workflow

from flowrail.machines.guidance.guide import guide
from flowrail.machines.reported_values import ValuesError
from flowrail.machines.session import Report, Session
from flowrail.machines.step import StepContext
from flowrail.machines.transition import advance, start
from flowrail.machines.values import Arg
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

Decision = Annotated[str, Arg(description="What to examine", required=True)]
LOOP = {"ok": None, "iterate": "only"}


def no_op(ctx: StepContext) -> tuple[Outcome, dict[str, Any]]:
    return Outcome.OK, {}


def by_decision(ctx: StepContext, decision: Decision) -> tuple[Outcome, dict[str, Any]]:
    return Outcome.OK, {"examined": decision}


def recording(seen: dict[str, Any]) -> Callable[[StepContext], Outcome]:
    """Return a handler that copies what it sees."""

    def record(ctx: StepContext) -> Outcome:
        seen.clear()
        seen.update(ctx.workflow_params)
        return Outcome.ITERATE

    return record


def report(definition: Workflow, session: Session, word: str = "done", /, **facts: Any) -> Session:
    return advance(definition, session, Report(word, facts))


def printed(definition: Workflow, session: Session) -> list[str]:
    return [str(offered.command) for offered in guide(definition, session).next]


# --- what a no-op handler changes


def test_a_no_op_handler_changes_nothing_for_the_agent_but_the_printed_done() -> None:
    steps = [step("a", next={"ok": "b"}), step("b")]
    plain = workflow(*steps)
    handled = workflow(step("a", next={"ok": "b"}, handler=no_op), step("b", handler=no_op))
    before, after = start(plain), start(handled)

    while before.is_open:
        expected, seen = guide(plain, before), guide(handled, after)
        (wanted,), (offered,) = expected.next, seen.next
        assert str(offered.command) == str(wanted.command).replace(" ok ", " done ")
        assert (offered.to, offered.ends) == (wanted.to, wanted.ends)
        assert replace(seen, next=()) == replace(expected, next=())
        before, after = report(plain, before, "ok"), report(handled, after, "done")
        assert (after.step, after.status, after.state) == (before.step, before.status, before.state)


# --- what a handler sees


@pytest.mark.parametrize(
    ("parts", "fact", "expected"),
    [
        ({"reports": {"mode": Arg()}}, "quick", "quick"),
        ({"reports": {"mode": Arg()}, "params": {"mode": Arg(default="full")}}, "quick", "quick"),
        ({}, "quick", "quick"),
    ],
    ids=["only reported", "reported and a parameter", "in neither"],
)
def test_a_handler_sees_the_reported_fact(parts: Mapping[str, Any], fact: str, expected: str) -> None:
    seen: dict[str, Any] = {}
    look = step(handler=recording(seen), reports=parts.get("reports", {}), next=LOOP, limit=9)
    definition = workflow(look, params=parts.get("params", {}))

    report(definition, start(definition), mode=fact)

    assert seen["mode"] == expected


# --- Arg


def decisions() -> Workflow:
    return workflow(
        step("a", handler=by_decision, next={"ok": "b"}),
        step("b", handler=by_decision, next={"ok": "c"}),
        step("c", handler=by_decision),
        params={},
    )


def test_a_required_arg_given_at_the_start_is_not_asked_for_again() -> None:
    definition = decisions()
    session = start(definition, {"decision": "monolith"})

    for _ in definition.steps:
        assert all("decision" not in command for command in printed(definition, session))
        session = report(definition, session)

    assert (session.status, session.state["examined"]) == ("completed", "monolith")
    with pytest.raises(ValuesError, match="fixed when the session started"):
        report(definition, start(definition, {"decision": "monolith"}), decision="services")


# --- any fact


def test_a_step_whose_handler_declares_nothing_accepts_any_fact() -> None:
    definition = workflow(step("a", handler=no_op, next={"ok": "b"}), step("b"))

    session = report(definition, start(definition), confidence="high", areas=["x"], sure=True)

    assert session.state == {"confidence": "high", "areas": ("x",), "sure": True}
    with pytest.raises(ValuesError, match="is not known"):
        report(definition, session, "ok", confidence="high")
