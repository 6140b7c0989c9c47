"""Questions of agents reach the user through the orchestrator, and the answers reach the agent."""

from __future__ import annotations

import pytest
from support.dispatching_skill import FREE, Team, put_lead, put_nested
from support.refusals import refused
from support.sandbox import put_skill

from flowrail.machines.agents import DispatchGoneError


@pytest.fixture
def team() -> Team:
    put_lead()
    return Team()


@pytest.mark.every_store
def test_a_question_of_an_agents_agent_surfaces_at_the_top() -> None:
    put_nested()
    team = Team()
    child = team.child(1)
    grandchild = team.told(team.told(child).dispatches[0].child).session
    team.ask(grandchild)

    for session in (child, team.id):
        assert [question.session for question in team.told(session).questions] == [grandchild]


def test_a_child_with_an_open_question_cannot_end(team: Team) -> None:
    child = team.child(1)
    team.report("ok", child)
    team.ask(child)

    for outcome in ("ok", "fail"):
        with refused("QUESTION_OPEN"):
            team.report(outcome, child, found="x")
    assert team.statuses()[0] == "waiting"
    team.answer(child, "db=Redis")
    assert team.report("ok", child, found="x").status == "completed"


def test_after_the_answer_the_child_is_launched_again_and_knows_it(team: Team) -> None:
    put_lead("free", FREE)
    free = Team("free")
    child = free.child(1)
    free.ask(child)

    answered = free.answer(child, "db=other:neither of them")

    launch = answered.relaunch_command
    assert str(launch) == f"flow step --session {child} --store {free.world.store.path}"
    assert free.told().dispatches[0].command == launch
    assert [question.answer for question in free.told(child).questions] == [("other:neither of them",)]


@pytest.mark.parametrize("verb", ["ask", "answer"])
def test_an_agent_that_lost_its_work_asks_nothing_and_gets_no_answer(team: Team, verb: str) -> None:
    child = team.child(1)
    if verb == "answer":
        team.ask(child)
    team.again(1)

    with pytest.raises(DispatchGoneError):
        team.ask(child) if verb == "ask" else team.answer(child, "db=Redis")


def test_the_limit_of_an_agents_loop_is_a_question_for_the_top() -> None:
    workflow = (
        "name: NAME/one\nparams: {area: {type: string}}\nsteps:\n"
        "  - {id: first, title: First, actions: [Do.], limit: 1, next: {ok: null, fail: first}}\n"
    )
    put_lead(one=workflow)
    team = Team()
    child = team.child(1)

    team.report("fail", child)

    (question,) = team.told().questions
    pairs = zip(question.options, question.choices, strict=True)
    accept = next(command for option, command in pairs if option.outcome == "accept-the-risk")
    store = team.world.store.path
    assert str(accept) == (
        f"flow answer {child} 'limit=Accept the risk' "
        f"--reason 'the user accepts what is still open' --store {store}"
    )
    team.answer(child, "limit=accept-the-risk", reason="fine")
    assert team.report("done", child).status == "completed"
    assert team.statuses()[0] == "completed"


def test_the_report_that_raised_a_limit_is_answered_again() -> None:
    put_skill(
        "loop",
        "name: NAME\nsteps:\n"
        "  - {id: first, title: First, actions: [Do.], limit: 1, next: {ok: null, fail: first},\n"
        "     reports: {why: {type: string}}}\n",
    )
    team = Team("loop")
    first = team.report("fail", why="red")

    again = team.report("fail", why="red")

    assert (first.status, first.replayed) == ("waiting", False)
    assert (again.questions, again.replayed) == (first.questions, True)
    assert team.kinds() == ["start", "limit"]
    for outcome, facts in (("fail", {"why": "blue"}), ("ok", {}), ("done", {})):
        with refused("QUESTION_OPEN"):
            team.report(outcome, **facts)
