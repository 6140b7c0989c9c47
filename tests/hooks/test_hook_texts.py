"""The texts that hooks give to agents, as golden files."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.dispatching_skill import put_lead
from support.golden import as_in_golden_file
from support.hooks import A, B, claude_code, context, conversation, denied, hook, reason, shell, within
from support.sandbox import SMALL, flow, put_skill
from support.simulated_agents import words_of

TOPICAL = SMALL.replace("steps:", "params: {topic: {type: string, default: ''}}\nsteps:").replace(
    "title: First,", "title: First, forbids: [Edit],"
)
QUESTIONS = b"""\
<needs_user_input><question id="which" header="Which"><text>Which?</text>
<option label="One"/><option label="Two"/></question></needs_user_input>"""


def start(caller: str | None, topic: str) -> str:
    return str(within(caller, "step", "small", "--new", "-p", f"topic={topic}")["session"])


def one_own() -> str:
    start(A, "slow login")
    return context(hook("session-start", claude_code("session-start", source="compact")))


def several() -> str:
    start(B, "the `invoice` export")
    start(None, "an old idea")
    ended = start(A, "rename the module")
    within(A, "step", "small", "fail", "--session", ended)
    return one_own()


def with_agents() -> str:
    lead = within(A, "step", "lead", "--new")
    within(A, *lead["dispatches"][0]["command"].split()[1:])
    return context(hook("session-start", claude_code("session-start", source="compact")))


def stop() -> str:
    start(A, "slow login")
    return reason(hook("stop", claude_code("stop")))


def stop_with_agents() -> str:
    with_agents()
    return reason(hook("stop", claude_code("stop")))


def subagent_stop() -> str:
    lead = within(A, "step", "lead", "--new")
    shell(lead["dispatches"][0]["command"], "agent-1")
    return reason(hook("subagent-stop", claude_code("subagent-stop", agent_id="agent-1")))


def denial() -> str:
    start(A, "slow login")
    return denied(hook("pre-tool-use", claude_code("pre-tool-use", tool_name="Edit", tool_input={})))


TEXTS: dict[str, Callable[[], str]] = {
    "session_start": one_own,
    "session_start_several": several,
    "session_start_with_agents": with_agents,
    "stop": stop,
    "stop_with_agents": stop_with_agents,
    "subagent_stop": subagent_stop,
    "pre_tool_use": denial,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_hook_text_is_as_in_its_golden_file(name: str) -> None:
    put_skill("small", TOPICAL)
    put_lead()

    text = TEXTS[name]()

    shown = text.replace(str(Path.cwd()), "/project")
    shown = re.sub(r"\b((?:small|lead|lead-one)-)[a-z0-9]{6}\b", r"\1k3x9q2", shown)
    assert as_in_golden_file(f"hooks/{name}.txt", shown)
    assert all(len(part) <= 1_000 for part in text.split("\n- "))
    for line in re.findall(r"`(flow [^`]+)`", text):
        with conversation(A):
            assert flow(*words_of(line), stdin=QUESTIONS).status == 0, line
