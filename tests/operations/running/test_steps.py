"""A run on disk, verb by verb, as a program would use it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.sandbox import ASKING, SMALL, put_skill, sessions_folder

from flowrail.cli.environment import SessionCall
from flowrail.errors import FlowError
from flowrail.machines.sessions.store import UnknownSessionError
from flowrail.operations.environment import World
from flowrail.operations.running import steps
from flowrail.operations.running.conversations import summaries


@pytest.fixture
def here() -> World:
    put_skill("small")
    put_skill("asking", ASKING)
    moments = iter(range(1_000))
    return SessionCall().world._replace(now=lambda: f"2026-01-01T00:00:{next(moments):02}Z", by="me")


def test_sessions_of_a_skill_and_of_its_agents_are_told_apart(here: World) -> None:
    put_skill("a", texts={"workflows/b.yaml": SMALL.replace("NAME", "NAME/b")})
    put_skill("a-b")
    begun = {address: steps.begin(here, address).guidance for address in ("a", "a/b", "a-b")}

    for address, guidance in begun.items():
        assert steps.step_again(here, address).guidance.session == guidance.session
        assert str(guidance.next[0].command).startswith(f"flow step {address} ok --session ")


def test_a_start_that_was_interrupted_never_was(here: World) -> None:
    for torn in (None, b"", b'{"seq":0,'):
        folder = Path(here.store.folder(here.store.new_id("small")))
        folder.mkdir(parents=True)
        if torn is not None:
            (folder / "journal.jsonl").write_bytes(torn)

    assert summaries(here.store, every=True) == []
    assert not steps.step_again(here, "small").guidance.resumed
    assert len(summaries(here.store, every=True)) == 1
    with pytest.raises(UnknownSessionError):
        steps.resume(here, folder.name)


def test_a_change_under_way_is_waited_for_and_not_for_ever(here: World) -> None:
    session = steps.begin(here, "small").guidance.session

    with here.store.change(session):
        assert steps.look(here, session).guidance.revision == 0
        with pytest.raises(FlowError, match=f"session `{session}` is held by") as caught:
            steps.report(here._replace(wait=0.01), "small", "ok")

    assert (caught.value.code, caught.value.exit_status) == ("LOCKED", 4)
    assert steps.report(here, "small", "ok").guidance.revision == 1


def test_nothing_moves_where_the_definition_cannot_be_kept(here: World) -> None:
    session = steps.begin(here, "small").guidance.session
    skill = Path(here.store.definition(session)["folder"])
    (skill / "workflow.yaml").write_text((skill / "workflow.yaml").read_text() + "# other bytes\n")
    definition = sessions_folder() / session / "definition.json"
    kept = definition.read_bytes()
    definition.unlink()
    definition.mkdir()

    with pytest.raises(FlowError):
        steps.report(here, "small", "ok")

    shutil.rmtree(definition)
    definition.write_bytes(kept)
    assert steps.report(here, "small", "ok", expect=0).guidance.revision == 1
