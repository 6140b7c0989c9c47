"""Reports move a session: the engine and a plain reading of the table agree, and nothing else happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.random_workflows import MODE, WORDS, Refused, Standing, Table, facts_of, workflows
from support.refusals import refused
from support.workflows import linear, step, workflow

from flowrail.errors import ConflictError
from flowrail.machines.frozen import freeze_deep
from flowrail.machines.outcome_decision import HandlerError
from flowrail.machines.session import Report, Session
from flowrail.machines.statechart import compile_workflow, event_name, position
from flowrail.machines.step import StepContext
from flowrail.machines.transition import advance, start
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome

STEPS = 8


def moved(session: Session) -> Standing:
    """Return where a session is, in the form of the table."""
    last = session.last
    return Standing(
        session.step,
        session.status,
        session.state,
        session.visits,
        last.outcome if last else "",
        last is not None and last.capped,
        last.skipped if last else (),
    )


def run(definition: Workflow, *outcomes: str, **params: Any) -> Session:
    session = start(definition, params)
    for outcome in outcomes:
        session = advance(definition, session, Report(outcome))
    return session


# --- the machine and the table


@given(workflows(), MODE, st.data())
def test_a_session_goes_where_the_table_says(
    definition: Workflow, params: dict[str, Any], data: st.DataObject
) -> None:
    table = Table(definition, params)
    session, standing = start(definition, params), table.start()
    assert moved(session) == standing

    for _ in range(STEPS):
        step_def = definition.get(session.step)
        report = Report(data.draw(WORDS), data.draw(facts_of(step_def)) if step_def else {})
        before = repr(session)
        after = table.after(standing, report)
        if isinstance(after, Refused):
            with pytest.raises(ConflictError) as caught:
                advance(definition, session, report)
            assert caught.value.code == after.code
        else:
            first, second = (advance(definition, session, report, now="12:00") for _ in range(2))
            assert first == second
            assert moved(first) == freeze_standing(after)
            if after.status == "waiting":  # the limit asks the user; we go on as if nobody had reported
                assert (first.revision, first.moved_at) == (session.revision, session.moved_at)
                assert first.last == session.last
            else:
                assert (first.revision, first.moved_at) == (session.revision + 1, "12:00")
        assert repr(session) == before
        if not isinstance(after, Refused) and after.status != "waiting":
            session, standing = first, after


def freeze_standing(standing: Standing) -> Standing:
    return Standing(
        standing.step,
        standing.status,
        freeze_deep(dict(standing.facts)),
        standing.visits,
        standing.outcome,
        standing.capped,
        standing.passed,
    )


@given(workflows(), MODE, st.data())
def test_a_machine_used_by_itself_goes_where_the_table_says(
    definition: Workflow, params: dict[str, Any], data: st.DataObject
) -> None:
    table = Table(definition, params)
    machine, standing = compile_workflow(definition)(), table.start()
    machine.model.params = table.params

    for _ in range(STEPS):
        if standing.step is None:
            break
        step_def = definition.step(standing.step)
        report = Report("done" if step_def.decides else data.draw(WORDS), data.draw(facts_of(step_def)))
        after = table.after(standing, report)
        if isinstance(after, Refused) or after.status == "waiting":
            if report.outcome != "done":
                machine.model.facts = {**standing.facts, **report.facts}
                with pytest.raises(machine.TransitionNotAllowed):
                    machine.send(event_name(report.outcome))
        else:
            machine.model.facts = after.facts
            machine.send(event_name(after.outcome))
            standing = after
        assert position(machine) == standing.step
        assert machine.model.visits == standing.visits
        assert machine.is_terminated is (standing.step is None)


# --- handlers and rules


def test_a_handler_that_raises_leaves_the_session_and_the_next_report_works() -> None:
    calls: list[str] = []

    def shaky(ctx: StepContext) -> Outcome:
        calls.append(ctx.step_id)
        if len(calls) == 1:
            raise RuntimeError("no\nluck " + "x" * 300)
        return Outcome.OK

    definition = workflow(step(handler=shaky))
    session = start(definition)
    before = repr(session)

    with pytest.raises(HandlerError) as caught:
        advance(definition, session, Report("done"))

    assert repr(session) == before
    assert "\n" not in caught.value.message
    assert "raised RuntimeError: no luck xxx" in caught.value.message
    assert "test_advance.py:" in caught.value.message
    assert len(caught.value.message) < 400 + len(__file__)
    assert caught.value.details == {"exception": "RuntimeError"}
    assert advance(definition, session, Report("done")).status == "completed"


# --- refusals


@pytest.mark.parametrize("word", ["iterat", "ok.fail", "report_ok", "OK", "ok ", "", "*", "_default"])
def test_only_the_exact_word_is_an_outcome(word: str) -> None:
    with refused("UNKNOWN_OUTCOME") as caught:
        run(linear("a"), word)

    assert (str(caught.value.hint) == "did you mean `iterate`?") is (word == "iterat")


def test_a_step_that_the_workflow_does_not_have_is_refused_and_not_taken_for_a_start() -> None:
    session = start(linear("a", "b"))

    with refused("DEFINITION_CHANGED") as caught:
        advance(linear("apple", "b"), session, Report("ok"))
    for stored in (None, "", ":completed", "step_a"):
        with refused("DEFINITION_CHANGED"):
            advance(linear("a"), Session(id="x", skill="dull", step=stored), Report("ok"))

    assert (caught.value.code, caught.value.exit_status) == ("DEFINITION_CHANGED", 5)
    assert str(caught.value.hint) == "name the new step: flow session migrate dull --to STEP"
