"""The programs that run agents, as values: folders, settings, and the events at which they call hooks; and the answers.

To support another host, add its value here, and the names of its tools in `rules.tools` if they are new.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from flowrail.errors import UsageError
from flowrail.text.phrases import did_you_mean

SESSION_START, SESSION_END, STOP = "session-start", "session-end", "stop"
SUBAGENT_STOP, PRE_TOOL_USE, POST_TOOL_USE = "subagent-stop", "pre-tool-use", "post-tool-use"
POST_TOOL_USE_FAILURE = "post-tool-use-failure"
EVENTS = {
    SESSION_START: "SessionStart",
    SESSION_END: "SessionEnd",
    STOP: "Stop",
    SUBAGENT_STOP: "SubagentStop",
    PRE_TOOL_USE: "PreToolUse",
    POST_TOOL_USE: "PostToolUse",
    POST_TOOL_USE_FAILURE: "PostToolUseFailure",
}
"""Our name of each event, and the name that Claude Code and Codex give it."""
Answer = Mapping[str, object]
LONGEST_ANSWER = 4_000
"""The most characters of an answer's text, which becomes part of the agent's context."""


def added_context(event: str, text: str) -> Answer:
    """Return the answer to *event* that adds *text* to the agent's context."""
    return {"hookSpecificOutput": {"hookEventName": EVENTS[event], "additionalContext": _bounded(text)}}


def denied_tool(reason: str) -> Answer:
    """Return the answer that keeps a tool from being used."""
    output = {
        "hookEventName": EVENTS[PRE_TOOL_USE],
        "permissionDecision": "deny",
        "permissionDecisionReason": _bounded(reason),
    }
    return {"hookSpecificOutput": output}


def blocked_stop(reason: str) -> Answer:
    """Return the answer that keeps an agent from ending its turn."""
    return {"decision": "block", "reason": _bounded(reason)}


@dataclass(frozen=True)
class Host:
    """A program that runs agents. Its paths are relative to a project, and to the user's home."""

    name: str
    """The name that `--host` takes."""
    title: str
    """The name that people read."""
    skills: str
    """The folder in which it looks for skills."""
    folder: str = ""
    """The folder with its settings."""
    moved_by: str = ""
    """The environment variable that names another folder than that in the user's home."""
    program: str = ""
    """The command that starts it."""
    settings: str = ""
    """The file with the settings of a project or of the user. A host without one calls no hooks."""
    local_settings: str = ""
    """The file with the settings of one user in a project."""
    takes_permissions: bool = False
    """Whether its settings allow commands."""
    conversation: str = ""
    """The environment variable with the id of the conversation in which a command runs."""
    after_setup: str = ""
    """What the user does after the hooks were written."""

    def in_home(self, path: str, home: str, environ: Mapping[str, str]) -> str:
        """Return one of the host's paths in the user's home."""
        moved = environ.get(self.moved_by, "") if self.moved_by else ""
        if moved and f"{path}/".startswith(f"{self.folder}/"):
            moved = os.path.join(home, moved[2:]) if moved.startswith("~/") else os.path.join(home, moved)
            return os.path.join(moved, os.path.relpath(path, self.folder)) if path != self.folder else moved
        return os.path.join(home, path)


CLAUDE_CODE = Host(
    "claude-code",
    "Claude Code",
    ".claude/skills",
    folder=".claude",
    moved_by="CLAUDE_CONFIG_DIR",
    program="claude",
    settings=".claude/settings.json",
    local_settings=".claude/settings.local.json",
    takes_permissions=True,
    conversation="CLAUDE_CODE_SESSION_ID",
    after_setup="Restart Claude Code: a running conversation keeps the hooks that it started with.",
)
CODEX = Host(
    "codex",
    "Codex",
    ".agents/skills",
    folder=".codex",
    moved_by="CODEX_HOME",
    program="codex",
    settings=".codex/hooks.json",
    conversation="CODEX_THREAD_ID",
    after_setup="Restart Codex and type /hooks: Codex runs hooks only after you have reviewed them.",
)
AGENTS = Host(
    "agents",
    "other hosts",
    ".agents/skills",
    after_setup="""\
This host has no hooks that flow supports. Add these lines to AGENTS.md, or to the instruction file
that the host reads.

    `flow` keeps the workflows that are in progress. At the start of a conversation, and after its
    context was compacted, run `flow sessions` to list them and `flow resume ID` to show the current
    step. End your turn only if the workflow has ended or waits for the user.

The MCP server, `flow mcp`, offers the same commands as tools to every host that supports MCP servers.""",
)
"""The folder that several hosts share."""
HOSTS = (CLAUDE_CODE, CODEX, AGENTS)


def host_named(name: str) -> Host:
    """Return the host of that name; refuse an unknown one."""
    names = [host.name for host in HOSTS]
    if name not in names:
        hint = did_you_mean(name[:40], names, f"use one of {', '.join(names)}")
        raise UsageError(f"unknown host `{name[:40]}`", hint=hint)
    return HOSTS[names.index(name)]


def _bounded(text: str) -> str:
    return text if len(text) <= LONGEST_ANSWER else f"{text[: LONGEST_ANSWER - 1]}…"
