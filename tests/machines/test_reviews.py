"""A gate decides from the findings of its own round, by the severity table, and not from what an agent reports."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.refusals import refused
from support.workflows import NOW, answered, found, report, review_loop

from flowrail.machines import gate_verdict
from flowrail.machines.gate_verdict import (
    gates,
    judge,
)
from flowrail.machines.guidance.guide import guide
from flowrail.machines.session import Session
from flowrail.machines.severities import POLICIES
from flowrail.machines.transition import start

ALL, MOST_OF_ALL, LEAST = {"MUST", "SHOULD", "COULD"}, {"MUST", "SHOULD"}, {"MUST"}
SETTLED = {
    None: [ALL, ALL, MOST_OF_ALL, MOST_OF_ALL, LEAST, LEAST, LEAST],
    "1-2 / 3-4 / 5+": [ALL, ALL, MOST_OF_ALL, MOST_OF_ALL, LEAST, LEAST, LEAST],
    "none / 1-4 / 5+": [MOST_OF_ALL, MOST_OF_ALL, MOST_OF_ALL, MOST_OF_ALL, LEAST, LEAST, LEAST],
}
"""The severities that block in rounds 1 to 7."""


def at_gate(round_: int, *severities: str, policy: str | None = None) -> Session:
    """Return a session at its gate in that round, with these findings of it."""
    flow = review_loop(policy=policy, limit=9)
    session = report(flow, start(flow, now=NOW), "ok")
    for _ in range(round_ - 1):
        session = report(flow, found(flow, session, "MUST"), "ok", "done", "ok")
    return report(flow, found(flow, session, *severities), "ok")


# --- what blocks


@pytest.mark.parametrize(("outcome", "severities"), [("ok", ("MUST", "SHOULD")), ("fail", ()), ("skip", ())])
def test_a_claim_of_any_outcome_is_refused_with_what_is_on_record(
    outcome: str, severities: tuple[str, ...]
) -> None:
    flow = review_loop()

    with refused("GATE_DECIDES") as caught:
        report(flow, at_gate(1, *severities), outcome)

    assert caught.value.exit_status == 4
    assert str(caught.value.hint) == "report `done`"
    assert caught.value.details["blocking"] == (["F1", "F2"] if severities else [])
    assert ("F1 MUST a MUST; F2 SHOULD a SHOULD" in caught.value.message) is bool(severities)


# --- resolving


def test_a_reviewer_takes_a_finding_back_while_the_review_is_at_work() -> None:
    flow = review_loop()
    session = found(flow, report(flow, start(flow, now=NOW), "ok"), "MUST", "SHOULD")

    session, settled = gate_verdict.resolve(flow, session, "F1", note="not so", at=NOW)
    again, same = gate_verdict.resolve(flow, session, "F1", note="another", at="later")
    with refused("UNKNOWN_FINDING", match="f9"):
        gate_verdict.resolve(flow, session, "f9")

    assert (settled.is_open, settled.resolution, settled.resolved_at) == (False, "not so", NOW)
    assert (again, same) == (session, settled)
    judged = judge("gate", gates(flow)["gate"], report(flow, session, "ok"))
    assert [finding.id for finding in judged.blocking] == ["F2"]


# --- a loop against a plain model


@given(
    st.lists(st.lists(st.sampled_from(["MUST", "SHOULD", "COULD"]), max_size=2), min_size=1, max_size=12),
    st.lists(st.sampled_from(["another-round", "accept-the-risk", "stop"]), max_size=12),
    st.sampled_from(sorted(POLICIES)),
    st.integers(1, 6),
)
def test_a_loop_goes_as_it_was_settled(
    rounds: list[list[str]], answers: list[str], policy: str, limit: int
) -> None:
    flow = review_loop(policy=policy, limit=limit)
    session = report(flow, start(flow, now=NOW), "ok")
    pending = iter(answers)
    extra, another = 0, 0

    for number, severities in enumerate(rounds, 1):
        session = report(flow, found(flow, session, *severities), "ok", "done")
        blocking = SETTLED[policy][min(number, 7) - 1]
        if not blocking & set(severities):
            assert session.step == "last"
            return
        if number < limit + extra:
            assert (session.step, session.visits["work"]) == ("work", number + 1)
        else:
            open_outcomes = {
                *({"another-round"} if another < 2 else ()),
                "accept-the-risk",
                "stop",
            }
            guidance = guide(flow, session)
            assert (session.step, session.status) == ("gate", "waiting")
            assert {option.outcome for option in guidance.questions[0].options} == open_outcomes
            choice = next((answer for answer in pending if answer in open_outcomes), "stop")
            session = report(flow, answered(session, f"limit={choice}"), "done")
            if choice in {"stop", "accept-the-risk"}:
                end = ("failed", None) if choice == "stop" else ("active", "last")
                assert (session.status, session.step) == end
                return
            extra += 1
            another += 1
        session = report(flow, session, "ok")


def test_accepting_the_risk_needs_a_reason() -> None:
    flow = review_loop(limit=1)
    session = report(flow, start(flow, now=NOW), "ok")
    asked = report(flow, found(flow, session, "MUST"), "ok", "done")

    with refused("BAD_ANSWER", match="needs a reason") as caught:
        answered(asked, "limit=Accept the risk", reason=" ")
    assert "--reason TEXT" in str(caught.value.hint)

    session = answered(asked, "limit=Accept the risk", reason="it ships today")
    assert session.questions[0].reason == "it ships today"
