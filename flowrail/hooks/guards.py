"""A first look at the guards of skills: the calls that one of them denies, outside of the steps that it names.

This holds without a session, so it is looked at for every tool. `guarded` decides about a call that a guard matches.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from flowrail.discovery.git_root import find_project_root
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession, session_at
from flowrail.skills.guard_index import Guard, known_guards, matching


class GuardedCall(NamedTuple):
    """A call that guards of a project may deny."""

    project: str
    guards: tuple[Guard, ...] | None
    """The guards that match; `None` if the index is out of date."""


def guarded_calls(call: Call) -> Iterator[GuardedCall]:
    """Yield the call for each project whose guards may deny it."""
    for project in projects_of(call):
        known = known_guards(project, state=call.state, environ=call.environ, home=call.home)
        found = None if known is None else tuple(matching(known, call.tool_use(project)))
        if found is None or found:
            yield GuardedCall(project, found)


def may_guard(call: Call) -> bool:
    """Return whether a skill guards calls here, as far as the index knows."""
    known = (
        known_guards(project, state=call.state, environ=call.environ, home=call.home)
        for project in projects_of(call)
    )
    return any(guards is None or guards for guards in known)


def projects_of(call: Call) -> list[str]:
    """Return the project of the folder, and that of the host if it is another one."""
    named = call.environ.get("CLAUDE_PROJECT_DIR", "")
    folders = [call.cwd, *([named] if os.path.isabs(named) else ())]
    return list(dict.fromkeys(find_project_root(folder) for folder in folders))


def with_ancestors(found: Sequence[FoundSession]) -> Iterator[FoundSession]:
    """Yield sessions in files, each followed by the open sessions that it works for."""
    seen: set[str] = set()
    pending = list(found)
    while pending:
        each = pending.pop(0)
        if each.id not in seen:
            seen.add(each.id)
            yield each
            parent = each.data.get("parent")
            above = session_at(each.store, str(parent["session"])) if isinstance(parent, dict) else None
            pending += [above] if above is not None else []
