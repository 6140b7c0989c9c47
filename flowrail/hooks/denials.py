"""Before a tool is used: what denies it. A session counts as its store has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowrail.command import Command
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import (
    FoundSession,
    GuardedCall,
    StoreFolder,
    child_of,
    is_in_database,
    projects_of,
    sessions_of,
    store_folders,
    with_ancestors,
)
from flowrail.hooks.stored import is_at, record_call, stored_sessions
from flowrail.hooks.suspicions import CountedCall, Denial
from flowrail.skills.guard_index import Guard, GuardIndex, matching, take_lift
from flowrail.skills.guard_scan import guards_of
from flowrail.text.safe_text import in_quotes, quotable


def answer(event: str, call: Call, *found: Denial | GuardedCall | CountedCall) -> Mapping[str, object]:
    """Return the answer that denies the tool, or an empty one."""
    del event
    reason = next(filter(None, (_reason(each, call) for each in found)), "")
    return call.host.denied_tool(reason) if reason else {}


def _reason(found: Denial | GuardedCall | CountedCall, call: Call) -> str | None:
    if isinstance(found, GuardedCall):
        return _guard_refusal(found, call)
    if isinstance(found, CountedCall):
        return record_call(found.session, found.use, call)
    session = found.session
    if session is None:
        return found.reason
    at_step = (each.session.step == session.data["step"] for each in stored_sessions([session], call))
    return found.reason if any(at_step) else None


MOST_NAMED = 3
"""At most this many skills are named if several guard a call."""
MOST_LISTED = 10
"""At most this many guards are listed when a conversation begins."""


def _guard_refusal(guarded: GuardedCall, call: Call) -> str | None:
    """Return why a guard denies the tool, or `None`."""
    project, denying = guarded.project, guarded.guards
    if denying is None:
        denying = tuple(matching(_index_of(project, call).guards, call.tool_use(project)))
    if not denying:
        return None
    own = [found for folder in _folders(call) for found in sessions_of(folder, call.conversations)]
    if _is_allowed(denying, own, call):
        return None
    if any(take_lift(call.state, project, guard.pattern) for guard in denying):
        return None
    return _guard_reason(denying, own)


def guards_overview(call: Call) -> str:
    """Return which skills guard commands here, for an agent whose conversation begins; empty if none does."""
    indexes = [_index_of(project, call) for project in projects_of(call)]
    guards = [guard for index in indexes for guard in index.guards]
    lines = [
        f"- `{quotable(guard.pattern)}`: "
        + (f"before it, run {_command('step', guard.skill)}." if guard.steps else "never.")
        for guard in guards[:MOST_LISTED]
    ]
    overview = ["These commands are denied outside of their skill's workflow:", *lines] if lines else []
    broken = [skill for index in indexes for skill in index.broken]
    overview += (f"{_broken(skill)}. Tell the user." for skill in broken[:MOST_NAMED])
    return "\n".join(overview)


def _broken(skill: str) -> str:
    return (
        f"The workflow of skill `{quotable(skill)}` has errors, so that no session can start, and its last guards hold: "
        f"{_command('check', skill)} shows them"
    )


def _command(verb: str, skill: str) -> str:
    return f"`{in_quotes(str(Command(verb, skill)))}`"


def _index_of(project: str, call: Call) -> GuardIndex:
    return guards_of(project, state=call.state, environ=call.environ, home=call.home)


def _folders(call: Call) -> list[StoreFolder]:
    return [folder for folder in store_folders(call) if not folder.address]


def _is_allowed(guards: Sequence[Guard], own: Sequence[FoundSession], call: Call) -> bool:
    """Return whether a session of this conversation, or one above the sub-agent's, is at a step that allows the call."""
    allowed = {(guard.skill, step) for guard in guards for step in guard.steps}
    child = child_of(call, _folders(call))
    found = [
        each
        for each in with_ancestors([*([child] if child is not None else []), *own])
        if (each.data.get("skill"), each.data.get("step")) in allowed
    ]
    if not found and not is_in_database(call):
        return False
    return is_at(allowed, found, call)


def _guard_reason(guards: Sequence[Guard], own: Sequence[FoundSession]) -> str:
    sentences = []
    for guard in guards[:MOST_NAMED]:
        steps = " or ".join(f"`{quotable(step)}`" for step in guard.steps)
        where = f"it is allowed only at step {steps}" if steps else "no step allows it"
        sentences.append(f"Skill `{quotable(guard.skill)}` guards `{quotable(guard.pattern)}`: {where}.")
        if guard.is_broken:
            sentences.append(f"{_broken(guard.skill)}.")
        elif steps:
            sentences.append(_next_command(guard, own))
    lift = in_quotes(str(Command("approve", guard=guards[0].pattern)))
    return f"{' '.join(sentences)} If the user wants this one call anyway, they run `{lift}` in a terminal of their own."


def _next_command(guard: Guard, own: Sequence[FoundSession]) -> str:
    """Return what the agent runs to get to a step that allows the call."""
    started = next((found for found in own if found.data.get("skill") == guard.skill), None)
    if started is None:
        return f"Run {_command('step', guard.skill)} and follow it step by step."
    resume = in_quotes(str(Command("resume", started.id, store=started.store.named)))
    step = quotable(started.data.get("step"))
    return f"Your session is at step `{step}`: run `{resume}` and follow it step by step."
