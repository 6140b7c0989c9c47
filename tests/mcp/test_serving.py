"""The server and the SDK's own client: the same verbs, structured answers, and nothing kept between calls."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp", reason="the extra `mcp` is not installed")

from support.dispatching_skill import FREE, put_lead
from support.mcp_client import Tools, ToolTeam, as_command, inside, served
from support.sandbox import (
    ASKING,
    BUNDLED,
    ENTRY,
    RELEASE,
    clean_environment,
    flow,
    put_skill,
    told,
)

VERBS = [
    *("step", "resume", "run", "ask", "answer"),
    *("finding_add", "finding_none", "finding_list", "finding_resolve"),
    *("handoff_send", "handoff_status", "handoff_cancel", "handoff_receive", "list", "discover", "sessions"),
]


@pytest.fixture
def tools() -> Iterator[Tools]:
    put_skill("small")
    put_skill("asking", ASKING)
    with inside() as made:
        yield made


def test_it_offers_the_verbs_each_well_described(tools: Tools) -> None:
    offered = tools.ask("list_tools").tools

    assert [tool.name for tool in offered] == VERBS
    for tool in offered:
        assert 15 < len(tool.description) < 800
        assert tool.input_schema["additionalProperties"] is False
        for argument in tool.input_schema["properties"].values():
            assert argument["description"].endswith(".")
    reading = {tool.name for tool in offered if tool.annotations.read_only_hint}
    assert reading == {"list", "sessions", "discover", "finding_list", "handoff_status"}
    assert "is the tool\n`handoff_send`" in str(tools.client.instructions)


def test_a_step_is_told_as_a_command_tells_it_with_calls_in_place_of_commands(tools: Tools) -> None:
    by_tool = tools.told("step", skill="small")
    by_command = told("step", "small", "--session", by_tool["session"])

    assert by_tool["next"][0]["command"] == {
        "tool": "step",
        "arguments": {"skill": "small", "outcome": "ok", "session": by_tool["session"], "expect": 0},
    }
    assert by_tool["notes"] == []
    for transition in (*by_tool["next"], *by_command["next"]):
        del transition["command"]
    for key in by_command.keys() - {"resumed", "briefing"}:
        assert by_tool[key] == by_command[key], key
    again = tools.told("step", skill="small")
    assert "Done so far: " in again["briefing"]


def test_calls_and_commands_go_on_with_one_session(tools: Tools) -> None:
    session = tools.told("step", new=True, skill="small")["session"]
    told("step", "small", "ok", "--session", session, "--expect", "0")

    assert tools.told("step", session=session)["step"]["id"] == "second"
    again = tools.told("step", skill="small", outcome="ok", session=session, expect=0)
    assert again["replayed"] is True
    assert (
        tools.refused("step", skill="small", outcome="fail", session=session, expect=0)["code"]
        == "REVISION_CONFLICT"
    )
    tools.told("step", outcome="ok", session=session)
    assert told("sessions", session)["status"] == "completed"
    assert flow("audit", "--verify").status == 0


def test_what_is_refused_has_its_code_and_a_hint_and_the_server_lives_on(tools: Tools) -> None:
    assert tools.refused("step", new=True, skill="nosuch")["code"] == "UNKNOWN_SKILL"
    assert tools.refused("step", session="../../etc")["code"] == "UNKNOWN_SESSION"
    assert "sessions {" in tools.refused("step", session="../../etc")["hint"]
    assert tools.refused("resume")["code"] == "NO_OPEN_SESSION"
    assert tools.refused("step", outcome="ok")["code"] == "USAGE"
    assert tools.refused("step", facts={"a": 1})
    assert tools.refused("step", skill="small", outcome="ok", params={"a": "b"})
    assert tools.refused("step", session="small-abcdef", again="1")["code"] == "UNKNOWN_SESSION"
    assert tools.refused("step", skill="small", outcome=None, expect=None, facts=None, session="x")
    session = tools.told("step", new=True, skill="small")["session"]
    assert tools.refused("step", session=session, params={"a": "b"})
    assert "resume {" in tools.refused("step", session=session, outcome="ok", expect=7)["hint"]
    assert tools.told("resume")["session"] == session


def test_work_is_handed_out_and_brought_back_by_calls_alone(tools: Tools) -> None:
    put_lead()
    put_lead("free", FREE, join="at least 2")

    for skill in ("lead", "free"):
        team = ToolTeam(tools)
        end = team.run(as_command("step", {"new": True, "skill": skill}))
        assert end.status == "completed"
    assert flow("audit", "--verify").status == 0


def test_a_call_cannot_decide_for_a_person(tools: Tools) -> None:
    put_skill("release", RELEASE)
    session = tools.told("step", new=True, skill="release")["session"]

    error = tools.refused("answer", session=session, answers=["ship=Yes"])

    assert error["code"] == "PERSON_NEEDED"
    assert error["hint"].endswith(f"in a terminal of their own: flow answer {session} ship=Yes")
    assert tools.told("resume", session=session)["status"] == "waiting"


@pytest.mark.parametrize(
    ("skill", "mode"),
    [
        ("decision-critic", "legacy"),  # `auto` is in the tests below
        *(pytest.param(skill, "auto", marks=pytest.mark.long) for skill in BUNDLED),
    ],
)
def test_a_bundled_skill_is_walked_to_its_end_by_calls_alone(skill: str, mode: str) -> None:
    with served(mode=mode) as tools:
        assert len(tools.ask("list_tools").tools) == len(VERBS)
        end = ToolTeam(tools).run(
            as_command("step", {"new": True, "skill": skill, "params": params_of(tools, skill)})
        )
        assert end.status in {"completed", "failed"}
    assert flow("audit", "--verify").status == 0


def test_a_session_belongs_to_the_connection_that_started_it_until_that_ends() -> None:
    put_skill("small")
    with served() as first, inside() as second:
        session = first.told("step", new=True, skill="small")["session"]
        error = second.refused("step", session=session, outcome="ok")
        own = second.told("step", skill="small")["session"]
    with served() as third:
        assert third.told("step", session=session, outcome="ok")["revision"] == 1

    assert error["code"] == "OTHER_CONVERSATION"
    assert f'resume {{"session": "{session}", "take_over": true}}' in error["hint"]
    assert own != session
    assert [record["kind"] for record in told("sessions", session)["history"]] == [
        "start",
        "released",
        "move",
        "released",
    ]


def test_a_session_continues_after_its_server_was_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    with served(before=f"import os; open({str(pid)!r}, 'w').write(str(os.getpid()))") as tools:
        params = params_of(tools, "decision-critic")
        shown = tools.told("step", new=True, skill="decision-critic", params=params)
        for _ in range(3):
            call = shown["next"][0]["command"]
            shown = tools.told(call["tool"], **call["arguments"], facts={})
        os.kill(int(pid.read_text()), signal.SIGKILL)
        with pytest.raises(Exception):  # noqa: B017 - however the client reports that nobody answers
            tools.told("resume")

    with served() as tools:
        assert tools.told("step", session=shown["session"])["next"] == [], "it belongs to the killed server"
        again = tools.told("step", session=shown["session"], take_over=True)
        assert again["step"] == shown["step"]
        end = ToolTeam(tools).run(as_command("step", {"session": shown["session"]}))
        assert end.status == "completed"
    assert flow("audit", "--verify").status == 0


def test_when_the_host_closes_its_input_the_server_ends() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ENTRY, "mcp"], input="", env=clean_environment(), capture_output=True, text=True,
        check=False, timeout=30,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")


def params_of(tools: Tools, skill: str) -> dict[str, Any]:
    """Return a value for each required parameter of a skill."""
    described = told("show", skill)
    return {
        name: param["example"] if param.get("example") is not None else "x"
        for name, param in described["params"].items()
        if param.get("required")
    }
