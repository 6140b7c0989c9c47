"""Random workflows with dispatches, questions and gates: the machine and a model agree at each step."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.agent_workflow_model import Reading, mixed
from support.workflows import LATER, NOW, answered, ended, found, report

from flowrail.errors import FlowError
from flowrail.machines.guidance.guide import guide
from flowrail.machines.session import Report, Session
from flowrail.machines.transition import NOTHING, advance, start
from flowrail.machines.workflow import Workflow
from flowrail.storage.converter import from_plain, to_plain

SEVERITIES = st.lists(st.sampled_from(["MUST", "SHOULD", "COULD"]), max_size=2)
ENDS = st.sampled_from(["ok", "ok", "fail"])
EVERY = ("ok", "fail", "skip", "iterate", "done")


@given(st.data())
def test_a_run_leads_where_the_model_says(data: st.DataObject) -> None:
    made = data.draw(mixed())
    session, reading = start(made, now=NOW), Reading(made)
    severities: dict[str, list[str]] = {}
    for _ in range(30):
        agree(made, session, reading)
        if reading.step is None:
            break
        session = from_plain(to_plain(session), Session)  # as after reading it from disk
        if reading.asked_limit:
            session = at_limit(made, session, reading, data)
        elif reading.here.dispatch is not None:
            session = fan(made, session, reading, data)
        elif reading.here.questions:
            session = ask(made, session, reading, data)
        elif reading.here.gate is not None:
            outcome = reading.found(severities[reading.here.gate.review])
            only(made, session, {"done"})
            session = report(made, session, "done")
            reading.go(outcome)
        else:
            found_now = data.draw(SEVERITIES)
            severities[reading.here.id] = found_now
            session = found(made, session, *found_now)
            outcomes = {str(outcome) for outcome in reading.here.next}
            only(made, session, outcomes)
            outcome = data.draw(st.sampled_from(sorted(outcomes)))
            session = report(made, session, outcome)
            reading.go(outcome)


def agree(made: Workflow, session: Session, reading: Reading) -> None:
    assert session.step == reading.step
    if reading.step is None:
        assert session.status == reading.status
        return
    assert session.visit == reading.visits[reading.step]
    waits = bool(reading.here.questions) or reading.asked_limit
    assert (session.status == "waiting") == waits
    assert guide(made, session).step is not None


def only(
    made: Workflow, session: Session, allowed: set[str], children: Mapping[str, Session] = NOTHING
) -> None:
    """Check that *allowed* outcomes are offered, and all others are refused."""
    guidance = guide(made, session, children=children)
    assert {transition.outcome for transition in guidance.next if not transition.waits_for} == allowed
    for outcome in EVERY:
        if outcome not in allowed:
            with pytest.raises(FlowError):
                advance(made, session, Report(outcome), now=LATER, children=children)


def fan(made: Workflow, session: Session, reading: Reading, data: st.DataObject) -> Session:
    total = len(session.dispatches)
    ends = data.draw(st.lists(ENDS, max_size=total))
    only(made, session, reading.open_after(ends), ended(session, *ends))
    ends += data.draw(st.lists(ENDS, min_size=total - len(ends), max_size=total - len(ends)))
    children = ended(session, *ends)
    allowed = reading.open_after(ends)
    only(made, session, allowed, children)
    outcome = data.draw(st.sampled_from(sorted(allowed)))
    reading.go(outcome)
    return advance(made, session, Report(outcome), now=NOW, children=children)


def ask(made: Workflow, session: Session, reading: Reading, data: st.DataObject) -> Session:
    answers: dict[str, list[str]] = {}
    for question in reading.here.questions:
        only(made, session, set())
        most = 2 if question.multi else 1
        words = st.sampled_from(["A", "B", "other:mine"])
        answers[question.id] = data.draw(st.lists(words, min_size=1, max_size=most, unique=True))
        session = answered(session, *(f"{question.id}={word}" for word in answers[question.id]))
    only(made, session, {"done"})
    session = report(made, session, "done")
    reading.go(reading.said(answers))
    return session


def at_limit(made: Workflow, session: Session, reading: Reading, data: st.DataObject) -> Session:
    only(made, session, set())
    question = session.limit_question
    assert question is not None
    assert [option.outcome for option in question.options] == reading.offered()
    answer = data.draw(st.sampled_from(reading.offered()))
    session = answered(session, f"limit={answer}")
    only(made, session, {"done"})
    reading.answer_limit(answer)
    return report(made, session, "done")
