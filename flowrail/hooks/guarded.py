"""Guards of skills: a call that a guard denies is allowed at its steps, in the sessions of this conversation."""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.command import Command
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import child_of, is_in_database, sessions_of, store_folders
from flowrail.hooks.guards import GuardedCall, projects_of, with_ancestors
from flowrail.hooks.stored import is_at
from flowrail.skills.guard_index import Guard, matching, take_lift
from flowrail.skills.guard_scan import guards_of
from flowrail.text.safe_text import in_quotes, shortened

MOST_NAMED = 3
"""At most this many skills are named if several guard a call."""
MOST_LISTED = 10
"""At most this many guards are listed when a conversation begins."""


def refusal_of(guarded: GuardedCall, call: Call) -> str | None:
    """Return why a guard denies the tool, or `None`."""
    project, denying = guarded
    if denying is None:
        denying = tuple(matching(_guards_of(project, call), call.tool_use(project)))
    if not denying or _is_allowed(denying, call):
        return None
    if any(take_lift(call.state, project, guard.pattern) for guard in denying):
        return None
    return _reason(denying)


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


def _guards_of(project: str, call: Call) -> tuple[Guard, ...]:
    return guards_of(project, state=call.state, environ=call.environ, home=call.home)


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
