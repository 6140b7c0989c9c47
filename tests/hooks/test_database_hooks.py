"""Hooks with a store in a database: the same answers for the caller's own sessions, and none if it does not answer."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.hooks import A, claude_code, denied, hook, reason, within
from support.sandbox import SMALL, put_skill

from flowrail.hooks import stored


@pytest.fixture(autouse=True)
def skills() -> None:
    put_skill("small", SMALL.replace("actions: [Do the first thing.],", "actions: [Do.], forbids: [Edit],"))


def stop(conversation: str = A) -> str:
    return reason(hook("stop", claude_code("stop", conversation)))


@pytest.mark.parametrize("store_kind", ["sqlite"], indirect=True)
def test_the_database_in_the_users_configuration_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    configuration = Path.home() / ".config" / "flowrail" / "config.toml"
    configuration.parent.mkdir(parents=True)
    configuration.write_text(f'store = "{os.environ["FLOW_STORE"]}"\n')
    monkeypatch.delenv("FLOW_STORE")
    session = within(A, "step", "small", "--new")["session"]

    assert f"flow resume {session}" in stop()


@pytest.fixture
def silent_server() -> Iterator[str]:
    """The address of a server that accepts connections and never answers."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield f"postgresql://me@127.0.0.1:{server.getsockname()[1]}/flow"


EVENTS = ["session-start", "stop", "subagent-stop", "session-end", "pre-tool-use", "post-tool-use"]


@pytest.mark.parametrize("event", EVENTS)
def test_an_agent_works_on_if_the_database_does_not_answer_or_refuses(
    event: str, silent_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored, "DATABASE_SECONDS", 0.3)
    for address in (
        silent_server,
        "postgresql://me@127.0.0.1:1/flow",
        "sqlite:///missing/flow.db",
        "what://ever",
    ):
        monkeypatch.setenv("FLOW_STORE", address)

        assert hook(event, claude_code(event)) == {}


def test_no_database_is_opened_before_a_tool_is_used(
    silent_server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLOW_STORE", silent_server)
    monkeypatch.setattr(stored, "DATABASE_SECONDS", 1_000_000.0)

    assert denied(hook("pre-tool-use", claude_code("pre-tool-use", tool_name="Edit", tool_input={}))) == ""
    assert hook("post-tool-use", claude_code("post-tool-use", tool_input={"command": "npm test"})) == {}
