"""The result of an agent follows from its own journal, even if its parent recorded something else."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path
from unittest.mock import patch

import pytest
from support.dispatching_skill import Team, put_lead, put_nested

from flowrail.errors import StorageError
from flowrail.machines.engine.dispatched_work import DispatchGoneError
from flowrail.machines.sessions.store import SessionChange
from flowrail.operations.running import dispatched_work
from flowrail.operations.running.child_sessions import agents_at_work, reconciled


@pytest.fixture
def team() -> Team:
    put_lead()
    return Team()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), StorageError("the disk is full", hint="make room")])
def test_an_end_counts_even_if_its_record_in_the_parent_is_lost(team: Team, error: BaseException) -> None:
    child = team.child(1)
    team.report("ok", child)
    real = SessionChange.commit

    def fails(change: SessionChange, session: object, *, kind: str, **more: object) -> object:
        if kind == "finish":
            raise error
        return real(change, session, kind=kind, **more)  # type: ignore[arg-type]

    with patch.object(SessionChange, "commit", fails), suppress(KeyboardInterrupt):
        assert team.report("ok", child, found="it").status == "completed"

    assert "finish" not in team.kinds()
    assert team.statuses()[0] == "ok"
    assert team.told().dispatches[0].result == {"found": "it"}
    for number in (2, 3):
        team.work(team.child(number))
    assert team.report("ok").step.id == "tell"  # type: ignore[union-attr]


def test_an_end_does_not_wait_for_the_lock_of_the_parent(team: Team) -> None:
    child = team.child(1)
    team.report("ok", child)

    with team.world.store.change(team.id):
        guidance = team.report("ok", child, found="it")

    assert guidance.status == "completed"
    assert team.statuses()[0] == "ok"


def test_work_whose_session_is_gone_is_handed_out_again_when_its_lease_is_over(team: Team) -> None:
    child = team.child(1)
    shutil.rmtree(Path(team.world.store.folder(child)))

    assert team.statuses()[0] == "claimed"
    with pytest.raises(DispatchGoneError):
        team.claim(1)
    team.clock.forward(601)
    assert team.child(1) != child


def test_an_agent_whose_leader_is_gone_has_lost_its_work(team: Team) -> None:
    child = team.child(1)
    shutil.rmtree(Path(team.world.store.folder(team.id)))

    with pytest.raises(DispatchGoneError, match="the session has left its step"):
        team.report("ok", child)


def test_agents_of_agents_keep_a_lease_alive() -> None:
    put_nested()
    team = Team()
    child = team.child(1)
    grandchild = dispatched_work.claim(team.world, child, "d0-1").guidance.session  # type: ignore[union-attr]

    for _ in range(2):
        team.clock.forward(590)
        team.report("ok", grandchild)
    team.clock.forward(590)  # half an hour after its own last step; its agent has reported since

    parent = team.world.store.read(team.id).session
    assert team.told().dispatches[0].expires_at == "2026-11-18T12:29:40.000Z"
    assert [agent.id for agent in agents_at_work(team.world.store, parent)] == [child]
    with pytest.raises(DispatchGoneError):
        team.claim(1)
    assert reconciled(team.world.store, parent) != parent


def test_what_an_agent_did_is_kept_when_the_step_is_left(team: Team) -> None:
    for number in (1, 2, 3):
        team.work(team.child(number), found=str(number))
    team.report("ok")

    move = next(record for record in team.world.store.records(team.id) if record.kind == "move")

    assert [dispatch["result"] for dispatch in move.note["dispatches"]] == [{"found": n} for n in "123"]
