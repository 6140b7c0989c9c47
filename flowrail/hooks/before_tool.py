"""Before a tool is used: what is denied. No engine and no store is loaded for a tool that is not."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from flowrail.command import Command
from flowrail.errors import FlowError
from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession, own_sessions, project_of, step_of, workflow_of
from flowrail.hooks.guards import refusal_of, with_ancestors
from flowrail.rules.tools import QUESTIONS, forbidding
from flowrail.text.safe_text import in_quotes, shortened

_LONGEST_NAME = 80


def answer(event: str, call: Call, host: str) -> Mapping[str, object]:
    """Return the answer that denies the tool, or an empty one."""
    del event
    for denial in _denials(call):
        from flowrail.hooks.stored import stored_sessions  # brings cattrs and the engine
        from flowrail.hosts.host import host_named  # dataclasses, which take as long as starting Python

        found = denial.session
        sessions = stored_sessions([found], call) if found is not None else ()
        if found is None or any(each.session.step == found.data["step"] for each in sessions):
            return host_named(host).deny(denial.reason)
    return {}


class _Denial(NamedTuple):
    """Why a tool is denied, and by which session; `None` if any session would."""

    reason: str
    session: FoundSession | None = None


def _denials(call: Call) -> Iterator[_Denial]:
    """Yield why the tool must not be used."""
    if not call.tool:
        return
    if call.tool in QUESTIONS and call.tool_input.get("answers"):
        yield _Denial("Only the user gives the answers to a question. Ask it without `answers`.")
    if "flow" in f"{call.cwd} {call.tool_input}":
        from flowrail.hooks import people_commands  # compiles expressions that few calls need

        refused = people_commands.refusal_of(call)
        if refused:
            yield _Denial(refused)
    guarded = refusal_of(call)
    if guarded:
        yield _Denial(guarded)
    own = own_sessions(call)
    workflows = {found.id: (found, workflow_of(found)) for found in with_ancestors(own)}
    for found in own:
        step = step_of(found, workflows[found.id][1])
        reason = _forbidden(found, step, call) or _typed_command(found, step, call)
        if reason:
            yield _Denial(reason, found)
    for found, workflow in workflows.values():
        reason = _broken_order(found, workflow, call)
        if reason:
            yield _Denial(reason)


def _broken_order(found: FoundSession, workflow: Mapping[str, Any], call: Call) -> str | None:
    """Return why an order rule of a session denies the tool."""
    if not workflow.get("order"):
        return None
    from flowrail.hooks import order  # dataclasses, only for a session with order rules

    return order.refusal_of(found, workflow, call)


def _forbidden(found: FoundSession, step: Mapping[str, Any], call: Call) -> str | None:
    """Return why the step forbids the tool."""
    rules = step.get("forbids")
    used = call.tool_use(project_of(found, call), os.path.join(found.folder, "work"))
    rule = forbidding(rules, used) if isinstance(rules, list) else None
    if rule is None:
        return None
    resume = in_quotes(str(Command("resume", found.id, store=found.store.path)))
    return (
        f"Step `{_plain(found.data['step'])}` of `{_plain(found.data['skill'])}` does not use `{_plain(rule)}`. "
        f"`{resume}` shows the step and its commands."
    )


def _typed_command(found: FoundSession, step: Mapping[str, Any], call: Call) -> str | None:
    """Return why a shell line must not be typed: it is a command that flowrail runs."""
    commands = step.get("commands")
    if not call.shell_line or not isinstance(commands, dict):
        return None
    from flowrail.evidence.arguments import is_typed_by_hand, resolved  # 3 ms, only for steps with commands

    values = {**found.data.get("params", {}), **found.data.get("state", {})}
    for name, declared in commands.items():
        try:
            run = resolved(declared["run"], values, command=name)
        except FlowError:
            continue  # a fact that it needs is missing, so it cannot run now
        if is_typed_by_hand(call.shell_line, run, project_of(found, call)):
            command = in_quotes(str(Command("run", name, session=found.id, store=found.store.named)))
            return (
                f"Step `{_plain(found.data['step'])}` declares this command as `{_plain(name)}`. "
                f"Run `{command}` instead: flow records its result, and does not run it twice if it may run only once."
            )
    return None


def _plain(text: object) -> str:
    return in_quotes(shortened(str(text), _LONGEST_NAME))
