"""Guards of skills: a call that a guard denies is allowed at its steps, in the sessions of this conversation.

This holds without a session, so it is asked for every tool. Only a call that a guard matches loads the store.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from flowrail.command import Command
from flowrail.discovery.project_root import find_project_root
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import (
    FoundSession,
    child_of,
    is_in_database,
    session_at,
    sessions_of,
    store_folders,
)
from flowrail.skills.guard_index import Guard, known_guards, matching, take_lift
from flowrail.text.safe_text import in_quotes, shortened

MOST_NAMED = 3
"""At most this many skills are named if several guard a call."""
MOST_LISTED = 10
"""At most this many guards are listed when a conversation begins."""


def refusal_of(call: Call) -> str | None:
    """Return why a guard denies the tool, or `None`."""
    for project in projects_of(call):
        guards = _guards_of(project, call)
        denying = matching(guards, call.tool_use(project)) if guards else []
        if denying and not _is_allowed(denying, call):
            if any(take_lift(call.state, project, guard.pattern) for guard in denying):
                continue
            return _reason(denying)
    return None


def overview(call: Call) -> str:
    """Return which skills guard commands here, for an agent whose conversation begins; empty if none does."""
    guards = [guard for project in projects_of(call) for guard in _guards_of(project, call) if guard.steps]
    if not guards:
        return ""
    lines = (
        f"- `{_plain(guard.pattern)}`: before it, run `{in_quotes(str(Command('step', guard.skill)))}`."
        for guard in guards[:MOST_LISTED]
    )
    return "\n".join(["These commands are denied outside of their skill's workflow:", *lines])


def projects_of(call: Call) -> list[str]:
    """Return the project of the folder, and that of the host if it is another one."""
    named = call.environ.get("CLAUDE_PROJECT_DIR", "")
    folders = [call.cwd, *([named] if os.path.isabs(named) else ())]
    return list(dict.fromkeys(find_project_root(folder) for folder in folders))


def _guards_of(project: str, call: Call) -> tuple[Guard, ...]:
    known = known_guards(project, state=call.state, environ=call.environ, home=call.home)
    if known is not None:
        return known
    from flowrail.skills.guard_scan import (
        guards_of,
    )  # brings YAML and the definition; only if a skill changed

    return guards_of(project, state=call.state, environ=call.environ, home=call.home)


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


def _is_allowed(guards: Sequence[Guard], call: Call) -> bool:
    """Return whether a session of this conversation, or one above the sub-agent's, is at a step that allows the call."""
    allowed = {(guard.skill, step) for guard in guards for step in guard.steps}
    folders = [folder for folder in store_folders(call) if not folder.address]
    own = [each for folder in folders for each in sessions_of(folder, call.conversations)]
    child = child_of(call, folders)
    found = [
        each
        for each in with_ancestors([*([child] if child is not None else []), *own])
        if (each.data.get("skill"), each.data.get("step")) in allowed
    ]
    if not found and not is_in_database(call):
        return False
    from flowrail.hooks.stored import is_at  # brings cattrs and the engine

    return is_at(allowed, found, call)


def _reason(guards: Sequence[Guard]) -> str:
    sentences = []
    for guard in guards[:MOST_NAMED]:
        steps = " or ".join(f"`{_plain(step)}`" for step in guard.steps)
        where = f"it is allowed only at step {steps}" if steps else "no step allows it"
        start = in_quotes(str(Command("step", guard.skill)))
        sentences.append(
            f"Skill `{_plain(guard.skill)}` guards `{_plain(guard.pattern)}`: {where}. "
            + (f"Run `{start}` and follow it step by step." if steps else "")
        )
    lift = in_quotes(str(Command("approve", guard=guards[0].pattern)))
    return f"{' '.join(sentences)} If the user wants this one call anyway, they run `{lift}` in a terminal of their own."


def _plain(text: object) -> str:
    return in_quotes(shortened(str(text), 200))
