"""The programs that run agents: their folders, settings, variables, events, tools and answers.

To support another host, add a subclass of `Host` here. Everything that lists hosts, their variables or their tools
derives from `HOSTS`. A host calls a hook for every tool, so a hook imports neither `dataclasses` nor `typing`: its
classes are plain.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from flowrail.storage.user_folders import expand

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


class ToolNames:
    """The names that a host gives its tools."""

    shells: frozenset[str] = frozenset()
    """Tools that run shell commands."""
    edits: frozenset[str] = frozenset()
    """Tools that change files."""
    reads: frozenset[str] = frozenset()
    """Tools that read files."""
    agents: frozenset[str] = frozenset()
    """Tools that start sub-agents."""
    questions: frozenset[str] = frozenset()
    """Tools in which the host asks the user an agent's questions."""
    skills: frozenset[str] = frozenset()
    """Tools with which an agent reads a skill."""

    def of_event(self, event: str) -> frozenset[str]:
        """Return the tools that *event* is for; none if it is for all, or is not about tools."""
        if event == POST_TOOL_USE:
            return self.shells | self.edits | self.questions | self.skills
        return self.shells if event == POST_TOOL_USE_FAILURE else frozenset()


class ClaudeToolNames(ToolNames):
    """The names in Claude Code and Codex. Codex also accepts names of Claude Code."""

    shells = frozenset({"Bash", "shell", "local_shell", "exec_command"})
    edits = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit", "apply_patch"})
    reads = frozenset({"Read", "Grep", "Glob", "LS", "NotebookRead"})
    agents = frozenset({"Agent", "Task"})
    questions = frozenset({"AskUserQuestion"})
    skills = frozenset({"Skill"})


class InputKeys:
    """The keys in the input of a host's hooks, with the names in Claude Code and Codex."""

    event: str = "hook_event_name"
    conversation: str = "session_id"
    agent: str = "agent_id"
    """The id of the sub-agent."""
    cwd: str = "cwd"
    tool: str = "tool_name"
    tool_input: str = "tool_input"
    response: str = "tool_response"
    interrupted: str = "is_interrupt"
    background_tasks: str = "background_tasks"


class Host:
    """A program that runs agents. Its paths are relative to a project, and to the user's home.

    The answers are those that Claude Code reads.
    """

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
    other_settings: tuple[str, ...] = ()
    """More files of a project in which the host finds commands that it runs by itself."""
    events: Mapping[str, str] = {}
    """The host's name of each of our events at which it calls hooks."""
    input_keys: InputKeys = InputKeys()
    """The keys in the input of its hooks."""
    tools: ToolNames = ToolNames()
    """The names of its tools."""
    conversation: str = ""
    """The environment variable with the id of the conversation in which a command runs."""
    shell_mark: str = ""
    """A variable that the host sets for the shells of an agent."""
    other_marks: tuple[str, ...] = ()
    """More variables that mark a program as started inside a conversation."""
    variable_prefix: str = ""
    """What the names of the host's own variables begin with."""
    project: str = ""
    """The variable of hooks with the project."""
    shell_file: str = ""
    """The variable of hooks with a file whose lines run in the agent's shells."""
    after_setup: str = ""
    """What the user does after the hooks were written."""
    headless: tuple[str, ...] = ()
    """The command that runs an agent of the fleet; its prompt comes from standard input.

    The fleet replaces `$conversation` by the conversation's id, `$settings` by our permissions and hooks as JSON,
    `$model` by an option, and `$arguments` by `fleet_arguments` or those that the user configured.
    """
    fleet_arguments: tuple[str, ...] = ()
    """Arguments that let an agent of the fleet change files without asking."""

    @property
    def marks(self) -> tuple[str, ...]:
        """The variables that mark a program as started inside a conversation."""
        return tuple(filter(None, (self.conversation, self.shell_mark, *self.other_marks)))

    def is_agents_shell(self, environ: Mapping[str, str]) -> bool:
        """Return whether an environment is that of an agent's shell, and not that of a hook."""
        return bool(self.shell_mark and environ.get(self.shell_mark))

    @property
    def approved_files(self) -> tuple[str, ...]:
        """The files of a project in which the host finds commands that it runs by itself."""
        return tuple(filter(None, (self.settings, self.local_settings, *self.other_settings)))

    def in_home(self, path: str, home: str, environ: Mapping[str, str]) -> str:
        """Return one of the host's paths in the user's home."""
        moved = environ.get(self.moved_by, "") if self.moved_by else ""
        if moved and f"{path}/".startswith(f"{self.folder}/"):
            moved = os.path.join(home, expand(moved, home))
            return os.path.join(moved, os.path.relpath(path, self.folder)) if path != self.folder else moved
        return os.path.join(home, path)

    def added_context(self, event: str, text: str) -> Answer:
        """Return the answer to *event* that adds *text* to the agent's context."""
        output = {"hookEventName": self.events[event], "additionalContext": _bounded(text)}
        return {"hookSpecificOutput": output}

    def denied_tool(self, reason: str) -> Answer:
        """Return the answer that keeps a tool from being used."""
        output = {
            "hookEventName": self.events[PRE_TOOL_USE],
            "permissionDecision": "deny",
            "permissionDecisionReason": _bounded(reason),
        }
        return {"hookSpecificOutput": output}

    def blocked_stop(self, reason: str) -> Answer:
        """Return the answer that keeps an agent from ending its turn."""
        return {"decision": "block", "reason": _bounded(reason)}


class ClaudeCode(Host):
    """Claude Code."""

    name = "claude-code"
    title = "Claude Code"
    skills = ".claude/skills"
    folder = ".claude"
    moved_by = "CLAUDE_CONFIG_DIR"
    program = "claude"
    settings = ".claude/settings.json"
    local_settings = ".claude/settings.local.json"
    takes_permissions = True
    other_settings = (".mcp.json",)
    events = EVENTS
    tools = ClaudeToolNames()
    conversation = "CLAUDE_CODE_SESSION_ID"
    shell_mark = "CLAUDECODE"
    other_marks = ("CLAUDE_CODE_ENTRYPOINT",)
    variable_prefix = "CLAUDE"
    project = "CLAUDE_PROJECT_DIR"
    shell_file = "CLAUDE_ENV_FILE"
    after_setup = "Restart Claude Code: a running conversation keeps the hooks that it started with."
    headless = (
        *("claude", "-p", "--session-id", "$conversation", "--output-format", "stream-json", "--verbose"),
        *("--settings", "$settings", "$model", "$arguments"),
    )
    fleet_arguments = ("--permission-mode", "acceptEdits")

    def is_agents_shell(self, environ: Mapping[str, str]) -> bool:
        """Return whether an environment is that of an agent's shell, and not that of a hook.

        Older versions mark only shells with `CLAUDECODE`. Newer ones mark hooks, too, and say in `AI_AGENT` who runs the
        command: `claude-code_2-1-197_agent` or `claude-code_2-1-197_harness`.
        """
        runner = environ.get("AI_AGENT", "")
        if runner.startswith("claude-code"):
            return not runner.endswith("_harness")
        return super().is_agents_shell(environ)


class Codex(Host):
    """Codex."""

    name = "codex"
    title = "Codex"
    skills = ".agents/skills"
    folder = ".codex"
    moved_by = "CODEX_HOME"
    program = "codex"
    settings = ".codex/hooks.json"
    other_settings = (".codex/config.toml",)
    events = EVENTS
    tools = ClaudeToolNames()
    conversation = "CODEX_THREAD_ID"
    shell_mark = "CODEX_CI"
    other_marks = ("CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED")
    variable_prefix = "CODEX"
    after_setup = "Restart Codex and type /hooks: Codex runs hooks only after you have reviewed them."
    headless = ("codex", "exec", "--json", "$arguments", "-")
    fleet_arguments = ("--sandbox", "workspace-write")


class OtherHosts(Host):
    """Any other host: it calls no hooks, and finds skills in the folder that several hosts share.

    The marks are those that the authors of these hosts document.
    """

    name = "agents"
    title = "other hosts"
    skills = ".agents/skills"
    other_marks = (
        "AI_AGENT",
        "AMP_CURRENT_THREAD_ID",
        "ANTIGRAVITY_AGENT",
        "AUGMENT_AGENT",
        "CURSOR_AGENT",
        "GEMINI_CLI",
        "GOOSE_TERMINAL",
        "OPENCODE",
    )
    after_setup = """\
This host has no hooks that flow supports. Add these lines to AGENTS.md, or to the instruction file
that the host reads.

    `flow` keeps the workflows that are in progress. At the start of a conversation, and after its
    context was compacted, run `flow sessions` to list them and `flow resume ID` to show the current
    step. End your turn only if the workflow has ended or waits for the user.

The MCP server, `flow mcp`, offers the same commands as tools to every host that supports MCP servers."""


CLAUDE_CODE, CODEX, AGENTS = ClaudeCode(), Codex(), OtherHosts()
HOSTS: tuple[Host, ...] = (CLAUDE_CODE, CODEX, AGENTS)


def host_of_input(event: str, received: Mapping[str, object]) -> Host:
    """Return the host that calls a hook at *event* with this input; Claude Code if the input does not name the event."""
    callers = (host for host in HOSTS if event in host.events)
    return next(
        (host for host in callers if received.get(host.input_keys.event) == host.events[event]), CLAUDE_CODE
    )


def named_project(environ: Mapping[str, str]) -> str:
    """Return the absolute path of the project that a host names to its hooks, or nothing."""
    named = (environ.get(host.project, "") for host in HOSTS if host.project)
    return next(filter(os.path.isabs, named), "")


def _bounded(text: str) -> str:
    return text if len(text) <= LONGEST_ANSWER else f"{text[: LONGEST_ANSWER - 1]}…"
