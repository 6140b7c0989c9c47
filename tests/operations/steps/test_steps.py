"""The operations on sessions in a folder, as a program calls them."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.sandbox import ASKING, put_skill

from flowrail.machines.session_store import UnknownSessionError
from flowrail.operations.board import list_sessions
from flowrail.operations.environment import Environment
from flowrail.operations.steps import current_step as steps


@pytest.fixture
def world() -> Environment:
    put_skill("small")
    put_skill("asking", ASKING)
    moments = iter(range(1_000))
    return Environment().replaced(clock=lambda: f"2026-01-01T00:00:{next(moments):02}Z", by="me")


def test_a_start_that_was_interrupted_never_was(world: Environment) -> None:
    for torn in (None, b"", b'{"seq":0,'):
        folder = Path(world.store.folder(world.store.new_id("small")))
        folder.mkdir(parents=True)
        if torn is not None:
            (folder / "journal.jsonl").write_bytes(torn)

    assert list_sessions(world.store, world.now, every=True) == []
    assert not steps.step_again(world, "small").resumed
    assert len(list_sessions(world.store, world.now, every=True)) == 1
    with pytest.raises(UnknownSessionError):
        steps.resume(world, folder.name)
