"""Before a tool is used: a first look at whether anything may deny it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

from flowrail.hooks.call import Call
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
from flowrail.hooks.people_commands import refusal_of
from flowrail.rules.tools import QUESTIONS, WATCHED, ToolUse, denied_by, forbidding, patterns_in

TYPE_CHECKING = False  # not from `typing`, which would take a tenth of a hook
if TYPE_CHECKING:
    from typing import Any


class Circumstances:
    """What is known about a call that something may deny."""

    def __init__(
        self,
        refusal: str | None,
        guarded: list[GuardedCall],
        own: list[FoundSession],
        steps: dict[str, Mapping[str, Any]],
        counting: list[FoundSession],
    ) -> None:
        self.refusal = refusal
        """Why only a person may make the call."""
        self.guarded = guarded
        """The call for each project whose guards may deny it."""
        self.own = own
        """The sessions that the caller works on."""
        self.steps = steps
        """The current step of each, by the id of the session."""
        self.counting = counting
        """The sessions, and those that they work for, whose order rules count the call."""


def look(event: str, call: Call) -> tuple[Circumstances] | None:
    """Return what may deny the tool; `None` if nothing does."""
    del event
    if not call.tool:
        return None
    own = own_sessions(call)
    workflows = {found.id: (found, workflow_of(found)) for found in with_ancestors(own)}
    known = Circumstances(
        _refusal(call),
        list(guarded_calls(call)),
        own,
        {found.id: step_of(found, workflows[found.id][1]) for found in own},
        [found for found, workflow in workflows.values() if _counts(found, workflow, call)],
    )
    may_deny = (
        known.refusal
        or known.guarded
        or known.counting
        or any(_may_deny(found, known.steps[found.id], call) for found in own)
    )
    return (known,) if may_deny else None


def use_in(found: FoundSession, call: Call) -> ToolUse:
    """Return the use of the tool as the rules of a session judge it."""
    return call.tool_use(project_of(found, call), os.path.join(found.folder, "work"))


def _refusal(call: Call) -> str | None:
    """Return why only a person may make the call."""
    if call.tool in QUESTIONS and call.tool_input.get("answers"):
        return "Only the user gives the answers to a question. Ask it without `answers`."
    given = f"{call.cwd} {call.tool_input}"
    if not any(part in given for part in ("flow", "journal", os.path.dirname(call.state), ".local")):
        return None
    return refusal_of(call)


def _may_deny(found: FoundSession, step: Mapping[str, Any], call: Call) -> bool:
    """Return whether the step forbids the tool, or the shell line names the program of a declared command."""
    programs = [declared["run"][0] for declared in step.get("commands", {}).values()]
    if call.shell_line and any(
        "$" in program or os.path.basename(program) in call.shell_line for program in programs
    ):
        return True
    return denied_by(step, use_in(found, call)) is not None


def _counts(found: FoundSession, workflow: Mapping[str, Any], call: Call) -> bool:
    """Return whether the tool counts for an order rule of the session, and mark that its calls are watched."""
    patterns = [pattern for rule in workflow.get("order", ()) for pattern in patterns_in(rule)]
    if not patterns:
        return False
    with suppress(OSError):
        mark = os.path.join(found.folder, WATCHED)
        os.close(os.open(mark, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
    return forbidding(patterns, use_in(found, call)) is not None
