"""What hosts send to hooks, in the form that they document, and hooks called with it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from support.sandbox import Ran, flow

from flowrail.hosts.protocol import LONGEST

A, B = "5f0c6a1e-2c1b-4f5e-9a5b-0d9f8f3f5a01", "99999999-8888-7777-6666-555555555555"
"""Two conversations."""
EVENTS = {
    "session-start": "SessionStart",
    "session-end": "SessionEnd",
    "stop": "Stop",
    "subagent-stop": "SubagentStop",
    "pre-tool-use": "PreToolUse",
    "post-tool-use": "PostToolUse",
    "post-tool-use-failure": "PostToolUseFailure",
}


def claude_code(event: str, session: str = A, **more: Any) -> dict[str, Any]:
    """Return what Claude Code sends."""
    common = {
        "session_id": session,
        "transcript_path": f"/home/me/.claude/projects/p/{session}.jsonl",
        "cwd": os.getcwd(),
        "permission_mode": "default",
        "hook_event_name": EVENTS[event],
    }
    own: dict[str, dict[str, Any]] = {
        "session-start": {"source": "startup", "model": "claude-sonnet-5"},
        "session-end": {"reason": "prompt_input_exit"},
        "stop": {"stop_hook_active": False, "last_assistant_message": "Done."},
        "subagent-stop": {
            "stop_hook_active": False,
            "agent_id": "a1b2c3d",
            "agent_type": "general-purpose",
            "agent_transcript_path": "",
            "last_assistant_message": "Done.",
        },
        "pre-tool-use": {
            "tool_name": "Bash",
            "tool_input": {"command": "git push", "description": "Push"},
            "tool_use_id": "toolu_01",
        },
        "post-tool-use": {
            "tool_name": "Bash",
            "tool_input": {"command": "ls", "description": "List"},
            "tool_response": {"stdout": "", "stderr": "", "interrupted": False, "isImage": False},
            "tool_use_id": "toolu_02",
            "duration_ms": 12,
        },
        "post-tool-use-failure": {
            "tool_name": "Bash",
            "tool_input": {"command": "npm test", "description": "Run test suite"},
            "tool_use_id": "toolu_03",
            "error": "Command exited with non-zero status code 1",
            "is_interrupt": False,
        },
    }
    return {**common, **own[event], **more}


def codex(event: str, session: str = A, **more: Any) -> dict[str, Any]:
    """Return what Codex sends."""
    common = {
        "session_id": session,
        "turn_id": "turn-1",
        "transcript_path": None,
        "cwd": os.getcwd(),
        "hook_event_name": EVENTS[event],
        "model": "gpt-5",
        "permission_mode": "default",
    }
    own: dict[str, dict[str, Any]] = {
        "session-start": {"source": "startup"},
        "session-end": {"reason": "other"},
        "stop": {"stop_hook_active": False, "last_assistant_message": None},
        "subagent-stop": {
            "stop_hook_active": False,
            "agent_id": B,
            "agent_type": "default",
            "agent_transcript_path": None,
            "last_assistant_message": None,
        },
        "pre-tool-use": {
            "tool_name": "Bash",
            "tool_input": {"command": "git push"},
            "tool_use_id": "call-1",
        },
        "post-tool-use": {
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_response": "",
            "tool_use_id": "call-2",
        },
    }
    return {**common, **own[event], **more}


HOSTS = {
    "claude-code": (claude_code, "CLAUDE_CODE_SESSION_ID"),
    "codex": (codex, "CODEX_THREAD_ID"),
}
"""Each known host: what it sends, and the variable that names the conversation in its shell."""


@contextmanager
def conversation(session: str | None, variable: str = "CLAUDE_CODE_SESSION_ID") -> Iterator[None]:
    """Let commands be run as a host's shell runs them."""
    with patch.dict(os.environ, {} if session is None else {variable: session}):
        yield


def within(session: str | None, *words: str, variable: str = "CLAUDE_CODE_SESSION_ID") -> Any:
    """Run a command in a conversation's shell and return its JSON."""
    with conversation(session, variable):
        ran = flow(*words, "--json")
    assert ran.status == 0, ran
    return ran.data


def hook(event: str, said: Mapping[str, Any] | bytes) -> dict[str, Any]:
    """Call a hook and return its answer, which is always one short object."""
    ran = raw(event, said)
    assert (ran.status, ran.err) == (0, ""), ran
    answer = ran.data
    assert isinstance(answer, dict)
    assert ran.out.count("\n") == 1
    assert all(len(text) <= LONGEST for text in _texts(answer))
    return answer


def raw(event: str, said: Mapping[str, Any] | bytes) -> Ran:
    """Call a hook, in this process."""
    return flow("hook", event, stdin=said if isinstance(said, bytes) else json.dumps(said).encode())


def reason(answer: Mapping[str, Any]) -> str:
    """Return why an agent was held; empty where it was let go."""
    assert answer == {} or set(answer) == {"decision", "reason"}
    assert answer.get("decision", "block") == "block"
    return str(answer.get("reason", ""))


def denied(answer: Mapping[str, Any]) -> str:
    """Return why a tool was denied; empty where it was not."""
    if not answer:
        return ""
    told = answer["hookSpecificOutput"]
    assert (told["hookEventName"], told["permissionDecision"]) == ("PreToolUse", "deny")
    return str(told["permissionDecisionReason"])


def context(answer: Mapping[str, Any]) -> str:
    """Return the text that a conversation gets when it begins."""
    if not answer:
        return ""
    told = answer["hookSpecificOutput"]
    assert (set(answer), told["hookEventName"]) == ({"hookSpecificOutput"}, "SessionStart")
    return str(told["additionalContext"])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, str):
        yield value


def shell(line: str, agent: str, session: str = A) -> Ran:
    """Run a command in a sub-agent's shell, and call the hook that a host calls after it."""
    with conversation(session):
        ran = flow(*shlex.split(line)[1:])
    if ran.status == 0:
        given = {"command": line, "description": "Run it"}
        said = claude_code("post-tool-use", session, agent_id=agent, tool_input=given)
        assert hook("post-tool-use", said) == {}
    return ran
