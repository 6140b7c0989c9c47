"""What became of a host's settings, for people and programs."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Protocol

from flowrail.text.safe_text import bounded, one_line, visible

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
MOST_COMPARED = 4_000
_WHERE = re.compile(r"@@ -(\d+)(,\d+)? \+(\d+)")
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
    """Return what changes, line by line; only between the first line and the last that change is compared."""
    from difflib import unified_diff

    path = done.place.path
    before, after = ((each or "").splitlines() for each in (done.before, done.after))
    first = _alike(before, after)
    last = _alike(before[first:][::-1], after[first:][::-1])
    start, end = max(0, first - 1), max(0, last - 1)
    old, new = (each[start : len(each) - end] for each in (before, after))
    if len(old) + len(new) > MOST_COMPARED:
        return visible(f"{path}: of {len(before)} lines {len(old)} become {len(new)}, too many to show")
    lines = (_further(each, start) for each in unified_diff(old, new, path, path, lineterm="", n=1))
    return visible(bounded("\n".join(lines)))


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many lines are the same from the beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((number for number, (a, b) in pairs if a != b), min(len(one), len(other)))


def _further(line: str, by: int) -> str:
    """Return a line of a difference; one that says where it is says so in the whole."""
    found = _WHERE.match(line)
    return (
        f"@@ -{int(found[1]) + by}{found[2] or ''} +{int(found[3]) + by}{line[found.end() :]}"
        if found
        else line
    )
