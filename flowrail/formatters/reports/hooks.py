"""Changes to a host's settings, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

from flowrail.command import Command
from flowrail.hosts.settings import SettingsChange
from flowrail.text.safe_text import bounded, one_line, visible

ELSEWHERE = """\
This host has no hooks that flow supports. Add these lines to AGENTS.md, or to the instruction file
that the host reads.

    `flow` keeps the workflows that are in progress. At the start of a conversation, and after its
    context was compacted, run `flow sessions` to list them and `flow resume ID` to show the current
    step. End your turn only if the workflow has ended or waits for the user.

The MCP server, `flow mcp`, offers the same commands as tools to every host that supports MCP servers."""
NONE_ELSEWHERE = "flow changes no settings of this host; remove its lines from the host's instruction file"
_RESTART = {
    "claude-code": "Restart Claude Code: a running conversation keeps the hooks that it started with.",
    "codex": "Restart Codex and type /hooks: Codex runs hooks only after you have reviewed them.",
}


def data(change: SettingsChange, *, dry_run: bool, permissions: Sequence[str] = ()) -> dict[str, object]:
    """Return a change of a host's settings as plain data."""
    file = change.file
    return {
        "host": file.host,
        "to": file.to,
        "path": file.path,
        "changed": change.changed,
        "exists": change.after is not None,
        "dry_run": dry_run,
        **({"permissions": list(permissions)} if permissions else {}),
    }


def installed(change: SettingsChange, permissions: Sequence[str], *, asked: bool, dry_run: bool) -> str:
    """Return what was added, whether the host must be restarted, and which commands the agent may run."""
    path, host = one_line(change.file.path), change.file.host
    if not change.changed:
        lines = [f"{path} has the hooks of flow already"]
    elif dry_run:
        lines = [_difference(change), "nothing was written"]
    else:
        lines = [f"added the hooks of flow to {path}", _RESTART[host]]
    if host == "claude-code" and asked:
        verb = "would run" if dry_run else "runs"
        lines.append(
            f"With {len(permissions)} rules, the agent {verb} these without asking: {_allowed_commands(permissions)}."
        )
    elif host == "claude-code":
        command = Command(
            "hook install", to=None if change.file.to == "project" else change.file.to, permissions=True
        )
        lines.append(
            f"Claude Code asks you before the agent runs a `flow` command. To allow these commands without asking: {command}"
        )
    return "\n".join(lines)


def _allowed_commands(permissions: Sequence[str]) -> str:
    """Return the commands that rules such as `Bash(flow step *)` allow."""
    return ", ".join(rule.removeprefix("Bash(").removesuffix(" *)") for rule in permissions)


def uninstalled(change: SettingsChange, *, dry_run: bool) -> str:
    """Return what was removed."""
    path = one_line(change.file.path)
    if not change.changed:
        return f"{path} has no hooks of flow"
    if dry_run:
        return f"{_difference(change)}\nnothing was written"
    if change.after is None:
        return f"removed the hooks of flow, and the file {path}"
    return f"removed the hooks of flow from {path}"


def _difference(change: SettingsChange) -> str:
    """Return what changes, line by line."""
    path = change.file.path
    before, after = ((text or "").splitlines() for text in (change.before, change.after))
    return visible(bounded("\n".join(unified_diff(before, after, path, path, lineterm="", n=1))))
