"""Before a tool is used: a second look at what denies it, with the reason that the agent reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.evidence.arguments import is_typed_by_hand, resolved
from flowrail.hooks import guards
from flowrail.hooks.before_tool import Circumstances, use_in
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession, GuardedCall, is_in_database, project_of
from flowrail.rules.tools import ToolUse, denied_by
from flowrail.text.safe_text import in_quotes, quotable


class Denial(NamedTuple):
    """Why a tool is denied, and by which session; `None` if any session would."""

    reason: str
    session: FoundSession | None = None


class CountedCall(NamedTuple):
    """A call that counts for the order rules of a session."""

    session: FoundSession
    use: ToolUse


Suspicion = Denial | GuardedCall | CountedCall


def look(event: str, call: Call, known: Circumstances) -> tuple[Suspicion, ...] | Mapping[str, object] | None:
    """Return what may deny the tool, in the order in which it is decided; `None` if nothing does.

    If no store has to be read to deny it, the answer is returned.
    """
    del event
    found: list[Suspicion] = []
    for suspicion in _suspicions(call, known):
        certain = None if found else _certain(suspicion, call)
        if certain:
            return call.host.denied_tool(certain)
        found += [suspicion] if certain is None else []
    return tuple(found) or None


def _certain(suspicion: Suspicion, call: Call) -> str | None:
    """Return the reason if a tool is denied without a look at stores, `""` if it is allowed, `None` if they decide."""
    if isinstance(suspicion, Denial) and suspicion.session is None:
        return suspicion.reason
    if not isinstance(suspicion, GuardedCall) or suspicion.guards is None or is_in_database(call):
        return None
    if guards.allowing_sessions(suspicion.guards, call):
        return None
    return guards.reason_of(suspicion.guards, suspicion.project, call) or ""


def _suspicions(call: Call, known: Circumstances) -> Iterator[Suspicion]:
    if known.refusal:
        yield Denial(known.refusal)
    yield from known.guarded
    for found in known.own:
        step = known.steps[found.id]
        reason = _forbidden(found, step, call) or _typed_command(found, step, call)
        if reason:
            yield Denial(reason, found)
    for found in known.counting:
        yield CountedCall(found, use_in(found, call))


def _forbidden(found: FoundSession, step: Mapping[str, Any], call: Call) -> str | None:
    """Return why the step forbids the tool."""
    rule = denied_by(step, use_in(found, call))
    if rule is None:
        return None
    resume = in_quotes(str(Command("resume", found.id, store=found.store.path)))
    return (
        f"Step `{quotable(found.data['step'])}` of `{quotable(found.data['skill'])}` does not use `{quotable(rule)}`. "
        f"`{resume}` shows the step and its commands."
    )


def _typed_command(found: FoundSession, step: Mapping[str, Any], call: Call) -> str | None:
    """Return why a shell line must not be typed: it is a command that flowrail runs."""
    values = {**found.data.get("params", {}), **found.data.get("state", {})}
    for name, declared in step.get("commands", {}).items() if call.shell_line else ():
        try:
            run = resolved(declared["run"], values, command=name)
        except FlowError:
            continue  # a fact that it needs is missing, so it cannot run now
        if is_typed_by_hand(call.shell_line, run, project_of(found, call)):
            command = in_quotes(str(Command("run", name, session=found.id, store=found.store.named)))
            return (
                f"Step `{quotable(found.data['step'])}` declares this command as `{quotable(name)}`. "
                f"Run `{command}` instead: flow records its result, and does not run it twice if it may run only once."
            )
    return None
