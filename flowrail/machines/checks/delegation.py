"""Warnings about dispatches."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines.definition.findings import UnplacedFinding
from flowrail.machines.definition.step import Outcome
from flowrail.machines.definition.step_parts import AgentRole
from flowrail.machines.definition.workflow import Workflow
from flowrail.text import phrases, placeholders


def _successes(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Warn about steps that dispatch agents but cannot report success."""
    for index, step in enumerate(workflow.steps):
        if step.work is not None and not step.decides and step.ways and Outcome.OK not in step.ways:
            what = f"step `{step.id}` has no `ok` transition for when its agents succeed"
            hint = "add `ok` to `next`"
            yield UnplacedFinding("FR176", ("steps", index, "next"), what, hint)


def _items(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Warn about dispatches over a list whose agents do not get their item."""
    for index, step in enumerate(workflow.steps):
        work = step.dispatch
        if (
            work is None
            or work.over is None
            or not (work.run or any(str(each).strip() for each in work.prompt))
        ):
            continue
        texts = [*work.prompt, *(value for value in work.context_vars.values() if isinstance(value, str))]
        if not any("item" in placeholders.placeholders(str(text)) for text in texts):
            what = f"step `{step.id}` goes over a list, but no agent gets its `$item`: all do the same"
            where = "vars" if work.run else "prompt"
            hint = f"put `$item` into its `{where}`, or leave `over` out"
            yield UnplacedFinding("FR179", ("steps", index, "dispatch", where), what, hint)


def _roles(workflow: Workflow) -> Iterator[UnplacedFinding]:
    """Warn about agents whose name looks like a misspelt role. Any other name is an agent of the host."""
    for index, step in enumerate(workflow.steps):
        work = step.work
        guess = phrases.did_you_mean(work.agent, AgentRole, "") if work is not None else ""
        if work is not None and guess and work.agent not in list(AgentRole):
            what = f"step `{step.id}` gives work to `{work.agent}`, which looks like a misspelt role"
            yield UnplacedFinding("FR145", ("steps", index, "dispatch", "agent"), what, guess)


DELEGATION_ADVICE = (_successes, _items, _roles)
