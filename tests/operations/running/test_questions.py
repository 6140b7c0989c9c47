"""Questions of agents reach the user through the orchestrator, and the answers reach the agent."""

from __future__ import annotations

import pytest
from support.dispatching_skill import FREE, Team, put_lead, put_nested
from support.sandbox import put_skill

from flowrail.errors import ConflictError
from flowrail.machines.definition.step_parts import Option
from flowrail.machines.engine.dispatched_work import DispatchGoneError
from flowrail.machines.engine.questions import BadAnswerError, QuestionOpenError
from flowrail.operations.running import dispatched_work
from flowrail.operations.running.steps import Answer


@pytest.fixture
def team() -> Team:
    put_lead()
    return Team()


def test_a_question_of_an_agent_surfaces_where_its_work_was_given_out(team: Team) -> None:
    child = team.child(1)

    pending = team.ask(child)

    store = team.world.store.path
    assert str(pending.answer) == f"flow answer {child} db=OPTION --store {store}"
    assert str(pending.resume) == f"flow resume {child} --store {store}"
    above = team.told()
    (question,) = above.questions
    assert (question.id, question.session, question.header, question.text) == (
        "db",
        child,
        "Store",
        "Which db?",
    )
    assert [str(option.command) for option in question.options] == [
        f"flow answer {child} db=Redis --store {store}",
        f"flow answer {child} db=Postgres --store {store}",
    ]
    assert all("the user's answer to `db`" in transition.waits_for for transition in above.next)
    assert team.told(child).status == "waiting"


@pytest.mark.every_store
def test_a_question_of_an_agents_agent_surfaces_at_the_top() -> None:
    put_nested()
    team = Team()
    child = team.child(1)
    answer = dispatched_work.claim(team.world, child, "d0-1")
    assert isinstance(answer, Answer)
    team.ask(answer.guidance.session)

    for session in (child, team.id):
        assert [question.session for question in team.told(session).questions] == [answer.guidance.session]
    team.clock.forward(100_000)
    with pytest.raises(DispatchGoneError):
        team.claim(1)  # its own agent waits for the user, so it is held


def test_while_an_agent_waits_for_the_user_no_other_agent_can_claim_its_work(team: Team) -> None:
    child = team.child(1, "ann")
    team.ask(child)
    team.clock.forward(100_000)

    with pytest.raises(DispatchGoneError):
        team.claim(1, "bob")
    assert team.told().dispatches[0].expires_at is None

    team.answer(child, "db=Redis")
    team.clock.forward(599)
    with pytest.raises(DispatchGoneError):
        team.claim(1, "bob")
    team.clock.forward(2)
    assert team.child(1, "bob") != child


def test_an_answered_question_may_be_asked_again_and_others_beside_it(team: Team) -> None:
    child = team.child(1)
    team.ask(child)
    team.answer(child, "db=Redis")

    team.ask(child, options=(Option("A"), Option("B")))
    team.ask(child, "host")

    assert [(question.id, question.answer) for question in team.told(child).questions] == [
        ("db", None),
        ("host", None),
    ]


@pytest.mark.every_store
def test_an_answer_on_record_stays_and_the_same_again_changes_nothing(team: Team) -> None:
    child = team.child(1)
    team.ask(child, multi=True)
    team.answer(child, "db=Redis", "db=Postgres")

    team.answer(child, "db=Postgres", "db=Redis")
    assert team.kinds(child) == ["start", "ask", "answer"]
    with pytest.raises(ConflictError, match="was answered `Redis, Postgres` by "):
        team.answer(child, "db=Redis")


@pytest.mark.parametrize("pairs", [["nobody=Redis"], ["db=MySQL"], ["db=Redis", "db=Postgres"]])
def test_an_answer_that_does_not_fit_is_refused_and_nothing_recorded(team: Team, pairs: list[str]) -> None:
    child = team.child(1)
    team.ask(child)

    with pytest.raises(BadAnswerError):
        team.answer(child, *pairs)
    assert team.kinds(child) == ["start", "ask"]


@pytest.mark.parametrize("verb", ["ask", "answer"])
def test_an_agent_that_lost_its_work_asks_nothing_and_gets_no_answer(team: Team, verb: str) -> None:
    child = team.child(1)
    if verb == "answer":
        team.ask(child)
    dispatched_work.cancel(team.world, team.id, "d0-1")

    with pytest.raises(DispatchGoneError):
        team.ask(child) if verb == "ask" else team.answer(child, "db=Redis")


def test_a_free_form_agent_asks_in_the_session_that_it_works_for() -> None:
    put_lead("free", FREE)
    team = Team("free")
    handed = team.handed(1, "ann")
    assert (
        str(handed.ask)
        == f"flow ask {team.id} - --token {handed.dispatch.token} --store {team.world.store.path}"
    )

    team.ask(team.id)
    assert team.told().status == "waiting"
    guidance = team.answer(team.id, "db=other:neither of them")

    line = guidance.dispatches[0].resume
    assert line is not None
    assert line.options["token"] == handed.dispatch.token
    again = team.handed(1, "ann", token=handed.dispatch.token)
    assert again.answered == (("Which db?", "other:neither of them"),)


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
    accept = next(option for option in question.options if option.outcome == "accept-the-risk")
    store = team.world.store.path
    assert str(accept.command) == (
        f"flow answer {child} 'limit=Accept the risk' "
        f"--reason 'the user accepts what is still open' --store {store}"
    )
    team.answer(child, "limit=accept-the-risk", reason="fine")
    assert team.report("done", child).status == "completed"
    assert team.statuses()[0] == "ok"


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
        with pytest.raises(QuestionOpenError):
            team.report(outcome, **facts)
