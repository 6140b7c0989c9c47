"""What became of a host's settings, for people and programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from flowrail.formatters.escape import one_line, visible

ELSEWHERE = """\
This host calls no hooks that flow answers. What keeps its agent at a procedure is what it is told:
add these lines to AGENTS.md, or to the file of instructions that the host reads.

    Procedures that are under way are kept by `flow`. At the start of a conversation, and after its
    context was shortened, `flow sessions` lists them and `flow resume ID` shows the current step.
    A turn ends when the procedure has, or when it waits for the user.

The MCP server, `flow mcp`, offers the same commands as tools to every host that takes MCP servers."""
NONE_ELSEWHERE = (
    "nothing of flow stands in such a host's settings; take its lines out of the host's file of instructions"
)
_CODEX = "Codex runs hooks only after a person has looked at them: type /hooks there."


class _Place(Protocol):
    """Which host's settings, whose, and the file."""

    @property
    def host(self) -> str: ...
    @property
    def to(self) -> str: ...
    @property
    def path(self) -> str: ...


class _Done(Protocol):
    """What became of a host's settings."""

    @property
    def place(self) -> _Place: ...
    @property
    def before(self) -> str | None: ...
    @property
    def after(self) -> str | None: ...
    @property
    def changed(self) -> bool: ...


def data(done: _Done, *, dry_run: bool, permissions: Sequence[str] = ()) -> dict[str, Any]:
    """Return the same as plain data."""
    place = done.place
    return {
        "host": place.host,
        "to": place.to,
        "path": place.path,
        "changed": done.changed,
        "exists": done.after is not None,
        "dry_run": dry_run,
        **({"permissions": list(permissions)} if permissions else {}),
    }


def installed(done: _Done, permissions: Sequence[str], *, asked: bool, dry_run: bool) -> str:
    """Return what was put where, and what is left to do."""
    path = one_line(done.place.path)
    head = f"hooks of flow in {path}: {'put in' if done.changed else 'there already'}"
    lines = ["nothing was written" if dry_run else head]
    if done.place.host == "codex":
        lines.append(_CODEX)
    elif not asked:
        rules = ", ".join(permissions[:2])
        lines.append(
            f"An agent may run flow unasked by {len(permissions)} rules such as {rules}: --permissions adds them"
        )
    return "\n".join(lines)


def uninstalled(done: _Done, *, dry_run: bool) -> str:
    """Return what was taken away."""
    if dry_run:
        return "nothing was written"
    path = one_line(done.place.path)
    if not done.changed:
        return f"hooks of flow in {path}: there are none"
    return f"hooks of flow in {path}: taken out{'' if done.after is not None else ', and the file with them'}"


def difference(done: _Done) -> str:
    """Return what changes, line by line."""
    from difflib import unified_diff

    before, after = ((each or "").splitlines() for each in (done.before, done.after))
    return visible("\n".join(unified_diff(before, after, done.place.path, done.place.path, lineterm="", n=1)))
