"""A dispatch is a session: its end ends the dispatch, and a report into a replaced one is refused."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.dispatching_skill import FREE, ONE, REVIEW, Team, put_lead, put_nested
from support.refusals import refused
from support.sandbox import HANDLER, flow, home_skills, put_skill

from flowrail.errors import UsageError
from flowrail.formatters.guidance import step_output
from flowrail.formatters.guidance.agent_answers import ANSWER
from flowrail.machines.agents import DispatchGoneError
from flowrail.machines.reported_values import SessionEndedError
from flowrail.operations.sessions.abandon import abandon_session
from flowrail.operations.steps import current_step as steps
from flowrail.operations.steps import review_findings as findings
from flowrail.operations.steps.child_sessions import MOST_GENERATIONS
from flowrail.operations.steps.new_session import begin
from flowrail.text.report import plain_text


@pytest.fixture
def team() -> Team:
    put_lead()
    return Team()


@pytest.fixture
def free() -> Team:
    put_lead("free", FREE)
    return Team("free")


# --- the work


@pytest.mark.every_store
def test_the_end_of_a_child_ends_its_dispatch_and_nothing_is_copied(team: Team) -> None:
    before = team.told()

    for number in (1, 2, 3):
        team.work(team.child(number), found=str(number))

    after = team.told()
    assert team.kinds() == ["start"]
    assert [dispatch.result for dispatch in after.dispatches] == [{"found": n} for n in "123"]
    assert [transition.command for transition in after.next] == [
        transition.command for transition in before.next
    ]
    assert team.report("ok").step.id == "tell"  # type: ignore[union-attr]


def test_an_agent_without_a_workflow_gets_its_prompt_as_the_only_step(free: Team) -> None:
    child = free.child(2)

    told = free.told(child)

    assert told.actions[0] == "Look at b, 2 deep."
    assert (told.topic, [offer.outcome for offer in told.next]) == ("b", ["ok", "fail"])
    free.report("ok", child, answer="it is $5 & more")
    assert free.told().dispatches[1].result == {"answer": "it is $5 & more"}


def test_a_failed_agent_is_replaced_and_the_new_one_counts(team: Team) -> None:
    first = team.child(1)
    team.report("fail", first)
    assert team.told().dispatches[0].again

    second = team.again(1)
    team.work(team.child(1))

    assert (first, second) == (f"{team.id}.0.1", f"{team.id}.0.1-2")
    assert team.statuses()[0] == "completed"
    assert team.kinds() == ["start", "again"]


@pytest.mark.every_store
def test_a_report_into_a_replaced_child_is_refused(team: Team) -> None:
    late = team.child(1)

    second = team.again(1)

    for verb in (
        lambda: team.report("ok", late),
        lambda: team.ask(late),
        lambda: findings.add_finding(team.world, late, severity="MUST", text="wrong"),
    ):
        with pytest.raises(DispatchGoneError, match=f"has a new session, `{second}`") as caught:
            verb()
        assert caught.value.exit_status == 4
    assert team.told(late).next == ()
    assert "lost its work" in team.told(late).actions[0]


def test_when_the_step_is_left_the_others_are_refused(team: Team) -> None:
    put_lead("any", join="any")
    fast = Team("any")
    winner, loser = fast.child(1), fast.child(2)
    fast.work(winner)
    fast.report("ok")

    with pytest.raises(DispatchGoneError, match="has left its step"):
        fast.report("ok", loser)
    with pytest.raises(DispatchGoneError, match="has left its step"):
        fast.told(f"{fast.id}.0.3")
    fast.report("ok")
    with pytest.raises(DispatchGoneError, match="is completed"):
        fast.told(f"{fast.id}.0.3")
    with pytest.raises(SessionEndedError):
        fast.again(3)


def test_a_child_that_cannot_be_started_can_be_given_up() -> None:
    put_lead(one=ONE.replace("required: true}}", "required: true, choices: [z]}}", 1))
    team = Team()

    with pytest.raises(UsageError) as caught:
        team.child(1)
    assert f"flow session abandon {team.id}.0.1 --reason REASON" in str(caught.value.hint)
    for number in (1, 2, 3):
        abandon_session(team.world, f"{team.id}.0.{number}", "the areas do not fit")

    assert team.statuses() == ["abandoned"] * 3
    assert team.told().dispatches[0].notes == ("the areas do not fit",)
    assert team.report("fail").step.id == "look"  # type: ignore[union-attr]


def test_a_workflow_that_dispatches_itself_ends_at_a_depth() -> None:
    text = (
        "name: NAME\nsteps:\n  - {id: a, title: A, actions: [Do.], next: {ok: null},\n"
        "     dispatch: {agent: explore, workflow: NAME}}\n"
    )
    put_skill("deep", text)
    team = Team("deep")

    for depth in range(1, MOST_GENERATIONS + 1):
        team.told(team.id + ".0.1" * depth)
    with refused("TOO_DEEP"):
        team.told(team.id + ".0.1" * (MOST_GENERATIONS + 1))
    assert len(team.sessions()) == MOST_GENERATIONS + 1


def test_an_agent_whose_leader_is_gone_has_lost_its_work(team: Team) -> None:
    child = team.child(1)
    shutil.rmtree(Path(team.world.store.folder(team.id)))

    with pytest.raises(DispatchGoneError, match="its parent session is missing"):
        team.report("ok", child)


def test_an_agents_agent_is_refused_when_the_agent_was_replaced() -> None:
    put_nested()
    team = Team()
    child = team.child(1)
    grandchild = team.told(team.told(child).dispatches[0].child).session
    team.again(1)

    with pytest.raises(DispatchGoneError):
        team.report("ok", grandchild)


def test_the_reason_of_a_fail_is_shown_in_the_step_that_follows() -> None:
    put_lead("free", FREE.replace("fail: null", "fail: tell"))
    team = Team("free")
    team.report("fail", team.child(1), reason="no <access>")
    for number in (2, 3):
        team.report("ok", team.child(number))
    assert [offer.outcome for offer in team.told().next] == ["fail"]

    after = team.report("fail")

    assert after.failures == ("look (a) failed: no <access>",)
    assert team.told().failures == after.failures
    assert "look (a) failed: no <access>" in plain_text(step_output.report(after))


# --- relayed


def test_a_report_for_an_agent_that_only_returned_text_is_marked(free: Team) -> None:
    relay = free.told().dispatches[0].relay_command
    assert str(relay) == f"flow step free ok --session {free.id}.0.1 --store {free.world.store.path}"

    steps.report(free.world, "free", "ok", session_id=f"{free.id}.0.1", facts={"answer": "42"})
    free.report("ok", free.child(2))

    first, second, _ = free.told().dispatches
    assert (first.result, first.relayed, second.relayed) == ({"answer": "42"}, True, False)
    moved = [record.session.last for record in free.world.store.records(first.child)][-1]
    assert moved is not None
    assert moved.relayed


def test_a_child_belongs_to_its_parents_conversation_and_to_the_first_other_one(team: Team) -> None:
    lead, agent, other = (team.world.replaced(conversation=name) for name in ("lead", "agent", "other"))
    parent = begin(lead, "lead").session
    child = f"{parent}.0.1"
    steps.look(agent, child)

    with refused("OTHER_CONVERSATION"):
        steps.report(other, None, "ok", session_id=child)
    steps.report(agent, None, "ok", session_id=child)
    steps.report(lead, None, "ok", session_id=child, facts={"found": "x"})

    assert [record.session.owner for record in team.world.store.records(child)] == ["agent"] * 3
    assert steps.look(lead, parent).dispatches[0].relayed


# --- a Dispatch in place of a handler

PYTHON = (
    HANDLER.split("def decide")[0].replace("import Outcome", "import AgentRole, Dispatch, Outcome")
    + """
WORKFLOW = Workflow(
    "NAME",
    StepDef(
        "review", "Review", ["Have the plan reviewed."],
        Dispatch(AgentRole.QUALITY_REVIEWER, script="checks.plan_completeness", total_steps=2),
        next={Outcome.OK: None, Outcome.FAIL: "revise"},
    ),
    StepDef("revise", "Revise", ["Revise the plan."], next={Outcome.OK: None}),
)
"""
)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_dispatch_runs_the_module_of_its_script_or_says_that_it_cannot(is_there: bool) -> None:
    texts = {"checks/plan_completeness.py": "print('step')\n"} if is_there else {}
    folder = put_skill("py", PYTHON, where=home_skills(), file="workflow.py", texts=texts)
    team = Team("py")

    told = "\n".join(team.told(team.child(1)).actions)

    command = f"PYTHONPATH={folder} python3 -m checks.plan_completeness --step 1 --total-steps 2"
    assert (f"Run `{command}`" in told) is is_there
    assert ("`checks.plan_completeness` was not found" in told) is not is_there
    assert "Have the plan reviewed." in told
    assert "report your verdict: `pass`" in told


@pytest.mark.parametrize(("verdict", "to"), [("pass", None), ("fail", "revise")])
def test_the_verdict_of_a_reviewer_decides_the_step(verdict: str, to: str | None) -> None:
    put_skill("py", PYTHON, where=home_skills(), file="workflow.py")
    team = Team("py")
    steps.report(
        team.world, None, verdict, session_id=team.child(1), facts={"reason": "milestone 2 has no test"}
    )

    if verdict == "fail":
        with refused("JOIN_PENDING"):
            team.report("ok")
    after = team.report("ok" if verdict == "pass" else "fail")

    assert (after.step.id if after.step else None) == to
    assert after.failures == (("review failed: milestone 2 has no test",) if to else ())


# --- findings


def test_findings_of_an_agent_count_for_the_gate_above() -> None:
    put_lead("review", REVIEW)
    team = Team("review")
    team.report("ok")
    child = team.child(1)

    finding = findings.add_finding(team.world, child, severity="MUST", text="wrong", place="a.py:1")
    team.report("ok", child)
    team.report("fail", child, found="x")
    guidance = team.report("ok")

    assert (finding.session, finding.by, finding.review) == (team.id, child, "review")
    assert guidance.loop is not None
    assert (guidance.loop.mode, guidance.loop.blocking) == ("failed", ("F1",))
    assert findings.list_findings(team.world, child).findings == (finding,)
    sent_back = team.report("done")
    assert (sent_back.step.id, [finding.id for finding in sent_back.findings]) == ("work", ["F1"])  # type: ignore[union-attr]
    findings.resolve_finding(team.world, team.id, "F1", note="fixed")
    assert team.told().findings == ()


# --- many at once


@pytest.mark.every_store
def test_of_many_who_start_one_child_all_get_the_same_session(free: Team) -> None:
    with ThreadPoolExecutor(12) as pool:
        children = set(pool.map(lambda _: free.child(1), range(12)))

    assert children == {f"{free.id}.0.1"}
    assert free.kinds(f"{free.id}.0.1") == ["start"]
    assert free.statuses() == ["active", "pending", "pending"]


def test_an_agent_whose_work_has_ended_is_shown_what_to_answer_and_asks_nothing_more() -> None:
    put_lead()
    team = Team()
    child = team.child(1)
    given_up = flow("session", "abandon", child, "--reason", "no access").out

    ended = flow("resume", child, "--format", "xml").out

    answer = f"RESULT abandoned: session {child} of "
    line = f"NEXT for the agent that launched this one: flow resume {team.id} "
    assert all(part in text for part in (ANSWER, answer, line) for text in (given_up, ended))
    assert "needs_user_input" not in ended
    assert flow("session", "abandon", child).out == given_up
