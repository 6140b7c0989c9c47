"""The documented input of hooks, and calls of hooks with it."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from support.sandbox import Ran, flow

from flowrail.hosts.host import EVENTS, LONGEST_ANSWER

A, B = "5f0c6a1e-2c1b-4f5e-9a5b-0d9f8f3f5a01", "99999999-8888-7777-6666-555555555555"
"""Two conversations."""
STOPPED = {"stop_hook_active": False, "last_assistant_message": "Done."}
ENDED = {**STOPPED, "agent_id": "a1b2c3d", "agent_type": "general-purpose", "agent_transcript_path": ""}
PUSH, LIST, TEST = (
    {"tool_name": "Bash", "tool_input": {"command": command, "description": description}, "tool_use_id": use}
    for command, description, use in (
        ("git push", "Push", "toolu_01"),
        ("ls", "List", "toolu_02"),
        ("npm test", "Run test suite", "toolu_03"),
    )
)
LISTED = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}
OF_CLAUDE_CODE: dict[str, dict[str, Any]] = {
    "session-start": {"source": "startup", "model": "claude-sonnet-5"},
    "session-end": {"reason": "prompt_input_exit"},
    "stop": STOPPED,
    "subagent-stop": ENDED,
    "pre-tool-use": PUSH,
    "post-tool-use": {**LIST, "tool_response": LISTED, "duration_ms": 12},
    "post-tool-use-failure": {
        **TEST,
        "error": "Command exited with non-zero status code 1",
        "is_interrupt": False,
    },
}
OF_CODEX: dict[str, dict[str, Any]] = {
    "session-start": {"source": "startup"},
    "session-end": {"reason": "other"},
    "stop": {**STOPPED, "last_assistant_message": None},
    "subagent-stop": {
        **ENDED,
        "agent_type": "default",
        "agent_transcript_path": None,
        "last_assistant_message": None,
    },
    "pre-tool-use": {**PUSH, "tool_input": {"command": "git push"}},
    "post-tool-use": {**LIST, "tool_input": {"command": "ls"}, "tool_response": ""},
}


def claude_code(event: str, session: str = A, **more: Any) -> dict[str, Any]:
    """Return the input of a hook from Claude Code."""
    transcript = f"/home/me/.claude/projects/p/{session}.jsonl"
    return {**_common(event, session), "transcript_path": transcript, **OF_CLAUDE_CODE[event], **more}


def codex(event: str, session: str = A, **more: Any) -> dict[str, Any]:
    """Return the input of a hook from Codex."""
    own = {"turn_id": "turn-1", "transcript_path": None, "model": "gpt-5"}
    return {**_common(event, session), **own, **OF_CODEX[event], **more}


def _common(event: str, session: str) -> dict[str, Any]:
    name = EVENTS[event]
    return {"session_id": session, "cwd": os.getcwd(), "permission_mode": "default", "hook_event_name": name}


HOSTS = {
    "claude-code": (claude_code, "CLAUDE_CODE_SESSION_ID"),
    "codex": (codex, "CODEX_THREAD_ID"),
}
"""The hosts: the input of their hooks, and the variable with the conversation in their shells."""


@contextmanager
def conversation(session: str | None, variable: str = "CLAUDE_CODE_SESSION_ID") -> Iterator[None]:
    """Run commands as in a host's shell."""
    with patch.dict(os.environ, {} if session is None else {variable: session}):
        yield


def within(session: str | None, *words: str, variable: str = "CLAUDE_CODE_SESSION_ID") -> Any:
    """Return the JSON of a command in a conversation's shell."""
    with conversation(session, variable):
        ran = flow(*words, "--json")
    assert ran.status == 0, ran
    return ran.data


def hook(event: str, said: Mapping[str, Any] | bytes) -> dict[str, Any]:
    """Call a hook and return its answer after checking its form."""
    ran = raw(event, said)
    assert (ran.status, ran.err) == (0, ""), ran
    answer = ran.data
    assert isinstance(answer, dict)
    assert ran.out.count("\n") == 1
    assert all(len(text) <= LONGEST_ANSWER for text in _texts(answer))
    return answer


def raw(event: str, said: Mapping[str, Any] | bytes) -> Ran:
    """Call a hook, in this process."""
    return flow("hook", event, stdin=said if isinstance(said, bytes) else json.dumps(said).encode())


def reason(answer: Mapping[str, Any]) -> str:
    """Return why an agent must continue, or an empty text."""
    assert answer == {} or set(answer) == {"decision", "reason"}
    assert answer.get("decision", "block") == "block"
    return str(answer.get("reason", ""))


def denied(answer: Mapping[str, Any]) -> str:
    """Return why a tool was denied, or an empty text."""
    if not answer:
        return ""
    output = answer["hookSpecificOutput"]
    assert (output["hookEventName"], output["permissionDecision"]) == ("PreToolUse", "deny")
    return str(output["permissionDecisionReason"])


def context(answer: Mapping[str, Any]) -> str:
    """Return the text for a new conversation."""
    if not answer:
        return ""
    output = answer["hookSpecificOutput"]
    assert (set(answer), output["hookEventName"]) == ({"hookSpecificOutput"}, "SessionStart")
    return str(output["additionalContext"])


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
