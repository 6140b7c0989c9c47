"""Before a tool is used: what denies it. A session counts as its store has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flowrail.hooks import guards
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import GuardedCall, is_in_database, projects_of
from flowrail.hooks.stored import is_at, record_call, stored_sessions
from flowrail.hooks.suspicions import CountedCall, Denial
from flowrail.skills.guard_index import Guard, GuardIndex, matching
from flowrail.skills.guard_scan import guards_of


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


def _guard_refusal(guarded: GuardedCall, call: Call) -> str | None:
    """Return why a guard denies the tool, or `None`."""
    project, denying = guarded.project, guarded.guards
    if denying is None:
        denying = tuple(matching(_index_of(project, call).guards, call.tool_use(project)))
    if denying and _is_allowed(denying, call):
        return None
    return guards.reason_of(denying, project, call)


def guards_overview(call: Call) -> str:
    """Return which skills guard commands here, for an agent whose conversation begins; empty if none does."""
    return guards.overview([_index_of(project, call) for project in projects_of(call)])


def _is_allowed(denying: Sequence[Guard], call: Call) -> bool:
    """Return whether a session of this conversation, or one above the sub-agent's, is at a step that allows the call."""
    found = guards.allowing_sessions(denying, call)
    if not found and not is_in_database(call):
        return False
    return is_at(guards.allowed_positions(denying), found, call)


def _index_of(project: str, call: Call) -> GuardIndex:
    return guards_of(project, state=call.state, environ=call.environ, home=call.home)
