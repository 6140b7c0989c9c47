"""Changes to a host's settings, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff

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
_CODEX = "Codex runs hooks only after you have reviewed them: type /hooks in Codex."


def data(done: SettingsChange, *, dry_run: bool, permissions: Sequence[str] = ()) -> dict[str, object]:
    """Return the same as plain data."""
    file = done.file
    return {
        "host": file.host,
        "to": file.to,
        "path": file.path,
        "changed": done.changed,
        "exists": done.after is not None,
        "dry_run": dry_run,
        **({"permissions": list(permissions)} if permissions else {}),
    }


def installed(done: SettingsChange, permissions: Sequence[str], *, asked: bool, dry_run: bool) -> str:
    """Return what was added, and what is left to do."""
    path = one_line(done.file.path)
    head = f"hooks of flow in {path}: {'added' if done.changed else 'already there'}"
    lines = ["nothing was written" if dry_run else head]
    if done.file.host == "codex":
        lines.append(_CODEX)
    elif not asked:
        rules = ", ".join(permissions[:2])
        lines.append(
            f"{len(permissions)} rules such as {rules} let an agent run flow without asking: --permissions adds them"
        )
    return "\n".join(lines)


def uninstalled(done: SettingsChange, *, dry_run: bool) -> str:
    """Return what was removed."""
    if dry_run:
        return "nothing was written"
    path = one_line(done.file.path)
    if not done.changed:
        return f"hooks of flow in {path}: none found"
    return f"hooks of flow in {path}: removed{'' if done.after is not None else ', with the file'}"


def difference(done: SettingsChange) -> str:
    """Return what changes, line by line."""
    path = done.file.path
    before, after = ((text or "").splitlines() for text in (done.before, done.after))
    return visible(bounded("\n".join(unified_diff(before, after, path, path, lineterm="", n=1))))
