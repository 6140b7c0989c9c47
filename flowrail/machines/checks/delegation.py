"""Warnings about dispatches and questions."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.machines.definition.contents import texts_of
from flowrail.machines.definition.findings import UnplacedFinding
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.step_parts import AgentRole
from flowrail.machines.definition.validation.scope import Scope
from flowrail.text import phrases, placeholders


def _dispatch(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    work = step.work
    if work is None:
        return
    if not step.decides and Outcome.OK not in step.transitions:
        message = f"step `{step.id}` has no `ok` transition for when its agents succeed"
        yield UnplacedFinding("FR176", ("next",), message, "add `ok` to `next`")
    texts = [text for text in texts_of(step) if text.kind in {"vars", "prompt"}]
    uses_item = any("item" in placeholders.placeholders(text.text) for text in texts)
    if work.over is not None and not uses_item and (work.workflow or work.prompt):
        key = "vars" if work.workflow else "prompt"
        message = f"step `{step.id}` goes over a list, but no agent gets its `$item`: all do the same"
        hint = f"put `$item` into its `{key}`, or leave `over` out"
        yield UnplacedFinding("FR179", ("dispatch", key), message, hint)
    guess = phrases.did_you_mean(work.agent, AgentRole, "")
    if guess and work.agent not in list(AgentRole):
        message = f"step `{step.id}` gives work to `{work.agent}`, which looks like a misspelt role"
        yield UnplacedFinding("FR145", ("dispatch", "agent"), message, guess)


_REFUSING = (Outcome.FAIL, Outcome.ITERATE)


def _refusals(step: StepDef, _: Scope) -> Iterator[UnplacedFinding]:
    """Find answers after which a session continues as if the user had agreed."""
    agreed = step.transitions.get(Outcome.OK, Outcome.OK)
    for number, question in enumerate(step.questions):
        for position, option in enumerate(question.options):
            outcome = option.outcome
            if outcome in _REFUSING and step.transitions.get(Outcome(outcome), "") == agreed:
                message = (
                    f"the answer `{option.label}` to `{question.id}` decides `{outcome}`, "
                    "which leads where `ok` leads"
                )
                path = ("questions", number, "options", position)
                yield UnplacedFinding(
                    "FR185", path, message, f"let `{outcome}` lead elsewhere, or decide `ok`"
                )


STEP_RULES = (_dispatch, _refusals)
