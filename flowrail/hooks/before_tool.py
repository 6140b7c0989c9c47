"""Before a tool is used: a first look at what may deny it, without the engine and without a store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.evidence.arguments import is_typed_by_hand, resolved
from flowrail.hooks import people_commands
from flowrail.hooks.call import Call, Pending, plain
from flowrail.hooks.first_look import (
    FoundSession,
    GuardedCall,
    guarded_calls,
    own_sessions,
    project_of,
    step_of,
    with_ancestors,
    workflow_of,
)
from flowrail.rules.tools import QUESTIONS, ToolUse, forbidding
from flowrail.text.safe_text import in_quotes


class Denial(NamedTuple):
    """Why a tool is denied, and by which session; `None` if any session would."""

    reason: str
    session: FoundSession | None = None


class CountedCall(NamedTuple):
    """A call that counts for the order rules of a session."""

    session: FoundSession
    use: ToolUse


def look(event: str, call: Call) -> Pending | None:
    """Return what may deny the tool; `None` if nothing does."""
    del event
    found = tuple(_suspicions(call)) if call.tool else ()
    return Pending("denials", found) if found else None


def _suspicions(call: Call) -> Iterator[Denial | GuardedCall | CountedCall]:
    """Yield what may deny the tool, in the order in which it is decided."""
    if call.tool in QUESTIONS and call.tool_input.get("answers"):
        yield Denial("Only the user gives the answers to a question. Ask it without `answers`.")
    if "flow" in f"{call.cwd} {call.tool_input}" and (refused := people_commands.refusal_of(call)):
        yield Denial(refused)
    yield from guarded_calls(call)
    own = own_sessions(call)
    workflows = {found.id: (found, workflow_of(found)) for found in with_ancestors(own)}
    for found in own:
        step = step_of(found, workflows[found.id][1])
        reason = _forbidden(found, step, call) or _typed_command(found, step, call)
        if reason:
            yield Denial(reason, found)
    for found, workflow in workflows.values():
        if workflow.get("order") and (use := _counted_use(found, workflow, call)):
            yield CountedCall(found, use)


def _forbidden(found: FoundSession, step: Mapping[str, Any], call: Call) -> str | None:
    """Return why the step forbids the tool."""
    rules = step.get("forbids")
    used = call.tool_use(project_of(found, call), os.path.join(found.folder, "work"))
    rule = forbidding(rules, used) if isinstance(rules, list) else None
    if rule is None:
        return None
    resume = in_quotes(str(Command("resume", found.id, store=found.store.path)))
    return (
        f"Step `{plain(found.data['step'])}` of `{plain(found.data['skill'])}` does not use `{plain(rule)}`. "
        f"`{resume}` shows the step and its commands."
    )


def _typed_command(found: FoundSession, step: Mapping[str, Any], call: Call) -> str | None:
    """Return why a shell line must not be typed: it is a command that flowrail runs."""
    commands = step.get("commands")
    if not call.shell_line or not isinstance(commands, dict):
        return None
    values = {**found.data.get("params", {}), **found.data.get("state", {})}
    for name, declared in commands.items():
        try:
            run = resolved(declared["run"], values, command=name)
        except FlowError:
            continue  # a fact that it needs is missing, so it cannot run now
        if is_typed_by_hand(call.shell_line, run, project_of(found, call)):
            command = in_quotes(str(Command("run", name, session=found.id, store=found.store.named)))
            return (
                f"Step `{plain(found.data['step'])}` declares this command as `{plain(name)}`. "
                f"Run `{command}` instead: flow records its result, and does not run it twice if it may run only once."
            )
    return None


def _counted_use(found: FoundSession, workflow: Mapping[str, Any], call: Call) -> ToolUse | None:
    """Return the use of the tool if it counts for an order rule of the session, and mark that its calls are watched."""
    from flowrail.rules.order_rule import WATCHED, Event, parse_rule  # dataclasses, only if there are rules

    rules = [parse_rule(text, [step["id"] for step in workflow["steps"]]) for text in workflow["order"]]
    if not any(rule.patterns for rule in rules):
        return None
    with suppress(OSError):
        mark = os.path.join(found.folder, WATCHED)
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    use = call.tool_use(project_of(found, call), os.path.join(found.folder, "work"))
    return use if any(True in rule.matched(Event(call=use)) for rule in rules) else None
