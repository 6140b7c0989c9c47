"""Guards: the sessions that may allow a guarded call, and what an agent reads about guards. No store is read."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.command import Command
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import (
    FoundSession,
    child_of,
    sessions_of,
    store_folders,
    with_ancestors,
)
from flowrail.skills.guard_index import Guard, GuardIndex, take_lift
from flowrail.text.safe_text import in_quotes, quotable

MOST_NAMED = 3
"""At most this many skills are named if several guard a call."""
MOST_LISTED = 10
"""At most this many guards are listed when a conversation begins."""


def allowed_positions(guards: Sequence[Guard]) -> set[tuple[str, str]]:
    """Return the skills and steps that allow a call that *guards* match."""
    return {(guard.skill, step) for guard in guards for step in guard.steps}


def allowing_sessions(guards: Sequence[Guard], call: Call) -> list[FoundSession]:
    """Return the sessions in files that allow the call, as far as the last lines of their journals show.

    They are sessions of this conversation, and those that the sub-agent works for.
    """
    folders = [folder for folder in store_folders(call) if not folder.address]
    child = child_of(call, folders)
    own = [*([child] if child is not None else []), *_own_sessions(call)]
    allowed = allowed_positions(guards)
    return [
        each for each in with_ancestors(own) if (each.data.get("skill"), each.data.get("step")) in allowed
    ]


def reason_of(guards: Sequence[Guard], project: str, call: Call) -> str | None:
    """Return why *guards* deny a call that no session allows; `None` if a person allowed this one."""
    if not guards or any(take_lift(call.state, project, guard.pattern) for guard in guards):
        return None
    return _reason(guards, _own_sessions(call))


def overview(indexes: Sequence[GuardIndex]) -> str:
    """Return which skills guard commands, for an agent whose conversation begins; empty if none does."""
    guards = [guard for index in indexes for guard in index.guards]
    lines = [
        f"- `{quotable(guard.pattern)}`: "
        + (f"before it, run {_command('step', guard.skill)}." if guard.steps else "never.")
        for guard in guards[:MOST_LISTED]
    ]
    text = ["These commands are denied outside of their skill's workflow:", *lines] if lines else []
    broken = [skill for index in indexes for skill in index.broken]
    text += (f"{_broken(skill)}. Tell the user." for skill in broken[:MOST_NAMED])
    return "\n".join(text)


def _broken(skill: str) -> str:
    return (
        f"No session of skill `{quotable(skill)}` can start, because its workflow has errors or is not approved. "
        f"Its last guards hold. {_command('check', skill)} shows errors, {_command('step', skill)} a missing approval"
    )


def _command(verb: str, skill: str) -> str:
    return f"`{in_quotes(str(Command(verb, skill)))}`"


def _own_sessions(call: Call) -> list[FoundSession]:
    folders = (folder for folder in store_folders(call) if not folder.address)
    return [found for folder in folders for found in sessions_of(folder, call.conversations)]


def _reason(guards: Sequence[Guard], own: Sequence[FoundSession]) -> str:
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
