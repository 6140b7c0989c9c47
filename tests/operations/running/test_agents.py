"""A dispatch is claimed by one agent at a time and finished once; a late result is refused by its token."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from support.dispatching_skill import FREE, ONE, REVIEW, Team, put_lead
from support.sandbox import HANDLER, home_skills, put_skill

from flowrail.errors import UsageError
from flowrail.formatters.guidance import as_text
from flowrail.machines.engine.dispatched_work import RESULTS, DispatchGoneError, JoinPendingError
from flowrail.machines.engine.reports import SessionEndedError
from flowrail.operations.running import dispatched_work, findings
from flowrail.operations.running.dispatched_work import ResultTooLongError


@pytest.fixture
def team() -> Team:
    put_lead()
    return Team()


@pytest.fixture
def free() -> Team:
    put_lead("free", FREE)
    return Team("free")


# --- claiming


def test_claims_leave_the_revision_alone_so_that_printed_commands_stay_valid(team: Team) -> None:
    before = team.told()

    children = [team.child(number) for number in (1, 2, 3)]
    for child in children:
        team.work(child)

    after = team.told()
    assert (before.revision, after.revision) == (0, 0)
    assert [transition.command for transition in after.next] == [
        transition.command for transition in before.next
    ]
    assert team.report("ok").step.id == "tell"  # type: ignore[union-attr]


@pytest.mark.every_store
def test_an_expired_lease_is_handed_out_again_and_the_first_holder_is_refused(team: Team) -> None:
    first = team.child(1, "ann")
    team.clock.forward(601)

    second = team.child(1, "bob")

    assert second != first
    with pytest.raises(DispatchGoneError, match="its lease ended and bob claimed it") as caught:
        team.report("ok", first)
    assert caught.value.exit_status == 4
    team.work(second)
    assert team.statuses() == ["ok", "pending", "pending"]
    assert team.told(first).status == "active"


def test_every_step_renews_the_lease(team: Team) -> None:
    child = team.child(1)
    team.clock.forward(500)
    team.report("ok", child)
    team.clock.forward(500)

    with pytest.raises(DispatchGoneError):
        team.claim(1)
    assert team.told().dispatches[0].expires_at == "2026-11-18T12:18:20.000Z"
    team.clock.forward(101)
    assert team.child(1) != child


def test_a_failed_one_is_claimed_again(team: Team) -> None:
    first = team.child(1)
    team.report("fail", first)
    assert team.statuses()[0] == "fail"
    assert team.told().dispatches[0].again

    team.work(team.child(1))

    assert team.statuses()[0] == "ok"
    with pytest.raises(DispatchGoneError, match="done, with `ok`"):
        team.claim(1)


def test_the_same_assignment_is_given_to_a_replacing_agent(free: Team) -> None:
    handed = free.handed(1, "ann")
    free.clock.forward(300)

    again = free.handed(1, "bob", token=handed.dispatch.token)

    assert (again.prompt, again.finish) == (handed.prompt, handed.finish)
    assert again.dispatch.expires_at == "2026-11-18T12:15:00.000Z"
    assert free.told().dispatches[0].holder == "bob"
    line = free.told().dispatches[0].resume
    assert str(line) == (
        f"flow claim {free.id} d0-1 --token {handed.dispatch.token} --store {free.world.store.path}"
    )


def test_work_of_a_step_that_was_left_is_gone(team: Team) -> None:
    put_lead("any", join="any")
    fast = Team("any")
    winner, loser = fast.child(1), fast.child(2)
    fast.work(winner)
    fast.report("ok")

    for verb in (
        lambda: fast.report("ok", loser),
        lambda: dispatched_work.claim(fast.world, fast.id, "d0-3"),
        lambda: dispatched_work.finish(fast.world, fast.id, "d0-2", "ok", token=loser),
    ):
        with pytest.raises(DispatchGoneError) as caught:
            verb()
        assert caught.value.exit_status == 4
    fast.report("ok")
    with pytest.raises(SessionEndedError):
        dispatched_work.claim(fast.world, fast.id, "d0-3")


def test_a_workflow_that_cannot_be_started_is_refused_and_nothing_is_claimed() -> None:
    put_lead(one=ONE.replace("required: true}}", "required: true, choices: [z]}}", 1))
    team = Team()

    with pytest.raises(UsageError):
        team.claim(1)

    assert team.statuses() == ["pending"] * 3
    assert team.sessions() == {team.id}


# --- ending


@pytest.mark.every_store
def test_a_late_result_is_refused_by_its_token(free: Team) -> None:
    late = str(free.handed(1, "ann").dispatch.token)
    free.clock.forward(601)
    now = str(free.handed(1, "bob").dispatch.token)

    assert late != now
    with pytest.raises(DispatchGoneError, match=r"claimed by bob until .*, but with another token"):
        dispatched_work.finish(free.world, free.id, "d0-1", "ok", token=late)
    dispatched_work.finish(free.world, free.id, "d0-1", "ok", token=now)
    with pytest.raises(DispatchGoneError):
        dispatched_work.finish(free.world, free.id, "d0-1", "ok", token=late)


def test_a_result_after_the_lease_counts_if_no_other_agent_has_claimed_it(free: Team) -> None:
    token = str(free.handed(1).dispatch.token)
    free.clock.forward(10_000)

    assert dispatched_work.finish(free.world, free.id, "d0-1", "ok", token=token).dispatch.succeeded


def test_a_result_that_is_too_long_is_refused_with_what_to_do(free: Team) -> None:
    token = str(free.handed(1).dispatch.token)

    with pytest.raises(ResultTooLongError) as caught:
        dispatched_work.finish(
            free.world, free.id, "d0-1", "ok", token=token, facts={"a": "x" * (RESULTS // 3)}
        )

    assert "file" in str(caught.value.hint)
    assert free.statuses()[0] == "claimed"


def test_a_result_comes_back_word_for_word_with_the_parents_command(team: Team) -> None:
    result = team.work(team.child(2), found='it\'s <b> & "so"\n')

    lines = as_text.render(result).splitlines()[-3:]
    assert result.status == "completed"
    assert "word for word" in as_text.render(result)
    assert lines[0].startswith("RESULT completed: session lead-one-")
    assert lines[0].endswith(", dispatch d0-2")
    assert lines[1] == 'FACTS {"found": "it\'s <b> & \\"so\\"\\n"}'
    assert lines[2] == (
        f"NEXT for the agent that launched this one: flow resume {team.id} --store {team.world.store.path}"
    )


# --- calling off


@pytest.mark.every_store
def test_losers_are_called_off_and_refused() -> None:
    put_lead("any", join="any")
    team = Team("any")
    winner, loser = team.child(1), team.child(2)
    team.work(winner)

    assert dispatched_work.cancel(team.world, team.id, "d0-2").dispatch.status == "cancelled"
    assert dispatched_work.cancel(team.world, team.id, "d0-2").replayed
    with pytest.raises(DispatchGoneError, match="it is cancelled"):
        team.report("ok", loser)
    assert not dispatched_work.cancel(team.world, team.id, "d0-1").replayed
    assert team.statuses() == ["ok", "cancelled", "pending"]


def test_a_join_that_cannot_be_met_any_more_leaves_the_other_transitions(free: Team) -> None:
    for number in (1, 2, 3):
        handed = free.handed(number)
        dispatched_work.finish(free.world, free.id, f"d0-{number}", "fail", token=str(handed.dispatch.token))

    assert [transition.outcome for transition in free.told().next] == ["fail"]
    with pytest.raises(JoinPendingError):
        free.report("ok")
    assert free.report("fail").status == "failed"


# --- a Dispatch in place of a handler


PYTHON = (
    HANDLER.split("def decide")[0].replace("import Outcome", "import AgentRole, Dispatch, Outcome")
    + """
WORKFLOW = Workflow(
    "NAME",
    StepDef(
        "look", "Look", ["Have it looked at."], Dispatch(AgentRole.EXPLORE, "NAME/one", vars={"area": "all"}),
        next={Outcome.OK: "tell", Outcome.FAIL: None},
    ),
    StepDef(
        "tell", "Tell", ["Write it up."], Dispatch(AgentRole.TECHNICAL_WRITER),
        next={Outcome.OK: None},
    ),
)
"""
)


def test_a_dispatch_in_place_of_a_handler_works_from_end_to_end() -> None:
    put_skill("py", PYTHON, where=home_skills(), file="workflow.py", texts={"workflows/one.yaml": ONE})
    team = Team("py")

    assert [(dispatch.agent, dispatch.workflow) for dispatch in team.told().dispatches] == [
        ("explore", "py/one")
    ]
    assert {transition.outcome for transition in team.told().next} == {"ok", "fail"}
    team.work(team.child(1))
    guidance = team.report("ok")
    assert [(dispatch.agent, dispatch.workflow) for dispatch in guidance.dispatches] == [
        ("technical-writer", None)
    ]
    handed = team.handed(1)
    assert handed.prompt == "Write it up."
    dispatched_work.finish(team.world, team.id, "d1-1", "ok", token=str(handed.dispatch.token))
    assert team.report("ok").status == "completed"


# --- findings


def test_findings_of_an_agent_count_for_the_gate_above() -> None:
    put_lead("review", REVIEW)
    team = Team("review")
    team.report("ok")
    child = team.child(1)

    session_id, finding = findings.add_finding(
        team.world, child, severity="MUST", text="wrong", place="a.py:1"
    )
    team.work(child)
    guidance = team.report("ok")

    assert (session_id, finding.by, finding.review) == (team.id, child, "review")
    assert guidance.loop is not None
    assert (guidance.loop.mode, guidance.loop.blocking) == ("failed", ("F1",))
    assert findings.list_findings(team.world, child) == (team.id, (finding,))
    sent_back = team.report("done")
    assert (sent_back.step.id, [finding.id for finding in sent_back.findings]) == ("work", ["F1"])  # type: ignore[union-attr]
    assert sent_back.loop is not None
    assert sent_back.loop.mode == "fix"
    findings.resolve_finding(team.world, team.id, "F1", "fixed")
    assert team.told().findings == ()


# --- many at once


@pytest.mark.every_store
def test_of_many_who_claim_one_piece_of_work_one_gets_it(free: Team) -> None:
    def claim(number: int) -> str | None:
        with suppress(DispatchGoneError):
            return free.handed(1, f"agent {number}").dispatch.token
        return None

    with ThreadPoolExecutor(12) as pool:
        tokens = [token for token in pool.map(claim, range(12)) if token]

    assert len(tokens) == 1
    dispatched_work.finish(free.world, free.id, "d0-1", "ok", token=tokens[0])
