"""Before a tool is used: what denies it. A session counts as its store has it."""

from __future__ import annotations

from collections.abc import Mapping

from flowrail.hooks import guarded
from flowrail.hooks.before_tool import CountedCall, Denial
from flowrail.hooks.call import Call
from flowrail.hooks.guards import GuardedCall
from flowrail.hooks.stored import record_call, stored_sessions
from flowrail.hosts.host import denied_tool


def answer(event: str, call: Call, *found: Denial | GuardedCall | CountedCall) -> Mapping[str, object]:
    """Return the answer that denies the tool, or an empty one."""
    del event
    reason = next(filter(None, (_reason(each, call) for each in found)), "")
    return denied_tool(reason) if reason else {}


def _reason(found: Denial | GuardedCall | CountedCall, call: Call) -> str | None:
    if isinstance(found, GuardedCall):
        return guarded.refusal_of(found, call)
    if isinstance(found, CountedCall):
        return record_call(found.session, found.use, call)
    session = found.session
    if session is None:
        return found.reason
    at_step = (each.session.step == session.data["step"] for each in stored_sessions([session], call))
    return found.reason if any(at_step) else None
