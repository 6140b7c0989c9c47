"""What is told of agents, questions and findings beside a step; and runs at random, read plainly too."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.loops import (
    AREAS,
    LATER,
    NOW,
    answered,
    asking_workflow,
    ended,
    fan,
    found,
    report,
    review_loop,
    yes_no,
)
from support.workflows import step, workflow

from flowrail.errors import ConflictError
from flowrail.machines import asking, dispatching
from flowrail.machines.advance import advance, start
from flowrail.machines.definition import Delegation, GateDef, OptionDef, Outcome, QuestionDef
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance import Guidance, guide
from flowrail.machines.params import Arg
from flowrail.machines.session import Report, Session
from flowrail.machines.together import facts_line, handed_back
from flowrail.machines.views import LoopView
from flowrail.machines.workflow import Workflow

STORE = "/a b/.flow"


def told(flow: Workflow, session: Session, **more: Any) -> Guidance:
    return guide(flow, session._replace(id="dull-abc234"), place=STORE, **more)


# --- agents


def test_agents_commands_name_the_store_and_those_of_the_session_do_not() -> None:
    flow = fan()

    shown = told(flow, start(flow, now=NOW))

    assert [each.command for each in shown.dispatches] == [
        f"flow claim dull-abc234 d0-{number} --store '/a b/.flow'" for number in (1, 2, 3)
    ]
    assert all("--store" not in way.command for way in shown.next)


@pytest.mark.parametrize(
    ("status", "parts", "resume", "again"),
    [
        ("pending", {}, None, False),
        (
            "claimed",
            {"child": "dull-one-x", "token": "dull-one-x"},
            "flow resume dull-one-x --store '/a b/.flow'",
            False,
        ),
        (
            "claimed",
            {"token": "abc"},
            "flow claim dull-abc234 d0-1 --token abc --store '/a b/.flow'",
            False,
        ),
        ("done", {"outcome": "ok"}, None, False),
        ("done", {"outcome": "fail"}, None, True),
        ("cancelled", {}, None, True),
    ],
)
def test_a_piece_of_work_is_told_with_the_command_that_fits(
    status: str, parts: dict[str, str], resume: str | None, again: bool
) -> None:
    flow = fan()
    session = start(flow, now=NOW)
    first, *rest = dispatching.states(session)
    session = dispatching.with_states(session, [first._replace(status=status, **parts), *rest])  # type: ignore[arg-type]

    view = told(flow, session).dispatches[0]

    assert (view.status, view.resume, view.again) == (status, resume, again)


def test_what_failed_is_not_wanted_again_once_enough_have_succeeded() -> None:
    flow = fan(join="any")

    shown = told(flow, ended(start(flow, now=NOW), "fail", "ok"))

    assert [each.again for each in shown.dispatches] == [False, False, False]
    assert shown.join is not None
    assert shown.join.met


def test_questions_of_agents_stand_beside_those_of_the_step() -> None:
    flow = fan()
    agent = asking.with_questions(
        start(flow, session_id="dull-one-abc234", now=NOW),
        [
            asking.Asked(
                "db", "DB", "Which?", (asking.Choice("A"), asking.Choice("B")), source=asking.BY_AGENT
            )
        ],
    )

    shown = told(flow, start(flow, now=NOW), from_agents=[agent])
    without = told(flow, start(flow, now=NOW), from_agents=[answered(agent, "db=A")])

    (question,) = shown.questions
    assert (question.session, question.source) == ("dull-one-abc234", "agent")
    assert question.command == "flow answer dull-one-abc234 db=OPTION --store '/a b/.flow'"
    assert "db" in shown.next[0].waits_for
    assert without.questions == ()


# --- an agent's last answer


def test_a_last_answer_is_three_lines() -> None:
    session = Session(
        "dull-one-abc234", "dull/one", None, status="failed", state=Frozen({"a": "x\ny", "n": 1})
    )
    session = session._replace(parent={"session": "dull-abc234", "dispatch": "d3-1"})

    lines = handed_back(session, STORE)[1].splitlines()

    assert lines == [
        "RESULT fail of dull/one, session dull-one-abc234, dispatch d3-1",
        'FACTS {"a": "x\\ny", "n": 1}',
        "NEXT for whoever launched this agent: flow resume dull-abc234 --store '/a b/.flow'",
    ]


def test_long_facts_are_named_with_where_they_stand() -> None:
    session = Session("dull-abc234", "dull", None, state=Frozen({"long": "x" * 9_000, "short": "y"}))

    line = facts_line(session, STORE)

    assert len(line) < 300
    assert '"short": "y"' in line
    assert "flow status dull-abc234 --json --store '/a b/.flow'" in line


# --- review loops


def loop(flow: Workflow, session: Session) -> LoopView | None:
    return told(flow, session).loop


def test_a_loop_is_told_from_every_place_in_it() -> None:
    flow = review_loop(limit=2)
    at_work = start(flow, now=NOW)
    at_review = report(flow, at_work, "ok")
    at_gate = report(flow, found(flow, at_review, "MUST", "COULD"), "ok")
    sent_back = report(flow, at_gate, "done")
    again = report(flow, sent_back, "ok")
    last = report(flow, found(flow, again, "SHOULD"), "ok")

    assert loop(flow, at_work) is None
    assert loop(flow, at_review) is None
    every = ("MUST", "SHOULD", "COULD")
    assert loop(flow, at_gate) == LoopView("gate", "Quality", 1, 2, "re-verify", every, ("F1", "F2"), "Work")
    assert loop(flow, sent_back) == LoopView("gate", "Quality", 1, 2, "fix", every, ("F1", "F2"), "Work")
    assert loop(flow, again) == LoopView("gate", "Quality", 2, 2, "re-verify")
    assert loop(flow, last) == LoopView("gate", "Quality", 2, 2, "ask-user", every, ("F3",), "Work")
    assert loop(flow, report(flow, last, "done")) == loop(flow, last)
    passed = report(flow, again, "ok")
    assert loop(flow, passed) == LoopView("gate", "Quality", 2, 2, "passed", every, (), "Work")
    assert loop(flow, report(flow, passed, "done")) is None


def test_steps_of_a_loop_are_named_as_they_read_then() -> None:
    flow = workflow(
        step("work", title="Work on $topic (try $visit)", next={"ok": "gate"}),
        step(
            "gate",
            title="Is $topic done",
            gate=GateDef("", "work", limit=1),
            next={"ok": None, "fail": "work"},
        ),
        params={"topic": Arg(default="it")},
    )
    at_gate = report(flow, found(flow, start(flow, now=NOW), "MUST"), "ok")

    view = loop(flow, at_gate)
    (question,) = asking.asked(report(flow, at_gate, "done"))

    assert view is not None
    assert (view.name, view.mended_in) == ("Is it done", "Work on it (try 2)")
    assert question.text.startswith("Is it done: 1 round, and it did not pass its review.")


def test_granted_rounds_count() -> None:
    flow = review_loop(limit=1)
    asked = report(flow, found(flow, report(flow, start(flow, now=NOW), "ok"), "MUST"), "ok", "done")
    session = report(flow, answered(asked, "limit=must-only"), "done", "ok")

    view = loop(flow, report(flow, found(flow, session, "COULD"), "ok"))

    assert view == LoopView("gate", "Quality", 2, 2, "passed", ("MUST",), (), "Work")


def test_findings_stand_where_they_are_needed_and_nowhere_else() -> None:
    flow = review_loop()
    at_review = found(flow, report(flow, start(flow, now=NOW), "ok"), "MUST")
    at_gate = report(flow, at_review, "ok")
    sent_back = report(flow, at_gate, "done")
    again = report(flow, sent_back, "ok")

    shown = [len(told(flow, each).findings) for each in (at_review, at_gate, sent_back, again)]

    assert shown == [1, 1, 1, 0]


def test_a_gate_that_sends_back_to_its_review_tells_of_the_loop_there() -> None:
    flow = workflow(
        step("review", next={"ok": "gate"}),
        step("gate", gate=GateDef("Quality", "review"), next={"ok": None, "fail": "review"}),
    )
    session = report(flow, found(flow, start(flow, now=NOW), "MUST"), "ok", "done")

    view = loop(flow, session)

    assert view is not None
    assert (view.mode, view.round) == ("re-verify", 2)
    assert told(flow, session).findings == ()


# --- at random, against a plain reading

WALKS = workflow(
    step(
        "fan",
        dispatch=Delegation("explore", None, "areas", join="at least 2", prompt=("$item",)),
        next={"ok": "ask", "fail": None},
    ),
    step(
        "ask",
        questions=[
            yes_no(),
            QuestionDef(
                "how", "How", "How?", (OptionDef("Fast"), OptionDef("Well", "iterate")), other="skip"
            ),
        ],
        next={"ok": "review", "fail": "fan", "iterate": "ask", "skip": "review"},
        limit=3,
    ),
    step("review", next={"ok": "gate", "iterate": "review"}),
    step("gate", gate=GateDef("Quality", "review", 2), next={"ok": "last", "fail": "ask"}),
    step("last"),
    params=AREAS,
)
SEVERITIES = st.lists(st.sampled_from(["MUST", "SHOULD", "COULD"]), max_size=2)


class Plain:
    """The same workflow, read as a person would read it."""

    def __init__(self) -> None:
        self.step: str | None = "fan"
        self.visits = {"fan": 1, "ask": 0, "review": 0, "gate": 0, "last": 0}
        self.blocking = False
        self.rounds = 2
        self.must_only = False

    def go(self, to: str | None) -> None:
        self.step = to
        if to is not None:
            self.visits[to] += 1

    def blocks(self, severities: list[str]) -> bool:
        number = self.visits["gate"]
        every = {"MUST", "SHOULD", "COULD"}
        table = {1: every, 2: every, 3: {"MUST", "SHOULD"}, 4: {"MUST", "SHOULD"}}
        chosen = {"MUST"} if self.must_only else table.get(number, {"MUST"})
        return bool(chosen & set(severities))


@given(st.data())
@settings(max_examples=150)
def test_runs_with_agents_questions_and_gates_go_where_a_plain_reading_says(data: st.DataObject) -> None:
    session, plain = start(WALKS, now=NOW), Plain()
    severities: list[str] = []
    for _ in range(25):
        assert session.step == plain.step
        if plain.step is None:
            break
        assert session.visit == plain.visits[plain.step]
        refuses_the_rest(session)
        if plain.step == "fan":
            session = run_fan(session, plain, data)
        elif plain.step == "ask":
            session = run_ask(session, plain, data)
        elif plain.step == "review":
            severities = data.draw(SEVERITIES)
            session = found(WALKS, session, *severities)
            outcome = data.draw(st.sampled_from(["ok", "ok", "iterate"]))
            session = report(WALKS, session, outcome)
            plain.go("gate" if outcome == "ok" else "review")
            plain.blocking = outcome == "ok" and plain.blocks(severities)
        elif plain.step == "gate":
            session = run_gate(session, plain, data)
        else:
            session = report(WALKS, session, "ok")
            plain.go(None)
            assert session.status == "completed"


def refuses_the_rest(session: Session) -> None:
    """Hold that whatever is not offered is refused, and nothing that waits is let through."""
    shown = guide(WALKS, session)
    free = {way.outcome for way in shown.next if not way.waits_for}
    for outcome in ("ok", "fail", "skip", "iterate", "done"):
        if outcome not in free:
            with pytest.raises(ConflictError):
                advance(WALKS, session, Report(outcome), now=LATER)


def run_fan(session: Session, plain: Plain, data: st.DataObject) -> Session:
    ends = data.draw(st.lists(st.sampled_from(["ok", "fail"]), min_size=3, max_size=3))
    session = ended(session, *ends)
    outcome = "ok" if ends.count("ok") >= 2 and data.draw(st.booleans()) else "fail"
    plain.go("ask" if outcome == "ok" else None)
    return report(WALKS, session, outcome)


def run_ask(session: Session, plain: Plain, data: st.DataObject) -> Session:
    go = data.draw(st.sampled_from(["Yes", "No"]))
    how = data.draw(st.sampled_from(["Fast", "Well", "other:so"]))
    session = report(WALKS, answered(session, f"go={go}", f"how={how}"), "done")
    if go == "No":
        if plain.visits["ask"] < 3 + extra(session, "ask"):
            plain.go("fan")
            return session
        assert session.status == "waiting"
        choice = data.draw(st.sampled_from(["accept-the-risk", "stop"]))
        session = report(WALKS, answered(session, f"limit={choice}"), "done")
        plain.go("review" if choice == "accept-the-risk" else None)
    elif how == "Well":
        plain.go("review" if plain.visits["ask"] >= 3 else "ask")
    else:
        plain.go("review")
    return session


def extra(session: Session, name: str) -> int:
    return int((session.grants.get(name) or {}).get("rounds", 0))


def run_gate(session: Session, plain: Plain, data: st.DataObject) -> Session:
    session = report(WALKS, session, "done")
    if not plain.blocking:
        plain.go("last")
        return session
    if plain.visits["gate"] < plain.rounds:
        plain.go("ask")
        return session
    offered = [str(option.outcome) for option in asking.asked(session)[0].options]
    choice = data.draw(st.sampled_from(offered))
    session = report(WALKS, answered(session, f"limit={choice}"), "done")
    if choice in {"another-round", "must-only"}:
        plain.rounds += 1
        plain.must_only = plain.must_only or choice == "must-only"
        plain.go("ask")
    else:
        plain.go("last" if choice == "accept-the-risk" else None)
    return session


def test_a_session_that_waits_goes_on_from_its_plain_form() -> None:
    from flowrail._codec import from_plain, to_plain

    flow = asking_workflow()
    session = answered(start(flow, now=NOW), "go=No")

    again = from_plain(to_plain(session), Session)

    assert report(flow, again, "done").visit == 2
    assert again.last is None
    assert Outcome.FAIL in flow.step("plan").ways
