"""One step as an agent would be told it, without a session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flowrail.discovery.locations import Root
from flowrail.errors import UsageError
from flowrail.machines.definition import Definition, StepDef
from flowrail.machines.frozen import Frozen
from flowrail.machines.guidance import Guidance, guide
from flowrail.machines.params import Arg
from flowrail.machines.refusals import ValuesError
from flowrail.machines.session import Session
from flowrail.machines.values import fact_args, read_assignments
from flowrail.machines.wording import did_you_mean
from flowrail.skills.opening import open_skill


class UnknownStepError(UsageError):
    """The workflow has no step of that id."""

    code = "UNKNOWN_STEP"


def preview(
    address: str,
    step_id: str,
    roots: Sequence[Root],
    state: str,
    *,
    params: Sequence[str] = (),
    facts: Sequence[str] = (),
    visit: int = 1,
) -> Guidance:
    """Return the guidance of one step, given by its id or its number, as if a session stood there."""
    opened = open_skill(address, roots, state)
    workflow = opened.workflow
    step = workflow.get(step_id) or _by_number(workflow, step_id)
    if step is None:
        ids = [each.id for each in workflow.steps]
        raise UnknownStepError(
            f"`{address}` has no step `{step_id[:80]}`",
            hint=did_you_mean(step_id[:80], ids, f"`flow show {address}` lists its steps"),
            step=step_id[:80],
            steps=ids,
        )
    known: dict[str, Arg] = {name: arg for each in workflow.steps for name, arg in fact_args(each).items()}
    defaults = {name: arg.default for name, arg in workflow.params.items() if arg.has_default}
    session = Session(
        id="",
        skill=address,
        step=step.id,
        source=opened.source,
        params=Frozen({**defaults, **_given(params, workflow.params, "-p")}),
        state=Frozen(
            read_assignments(facts, known, "-s")
            if any(callable(each.handler) for each in workflow.steps)  # which may return anything
            else _given(facts, known, "-s")
        ),
        visits=Frozen({step.id: visit}),
    )
    told = guide(workflow, session)
    return told._replace(next=tuple(way._replace(command="") for way in told.next))


def _given(texts: Sequence[str], declared: Mapping[str, Arg], option: str) -> dict[str, Any]:
    values = read_assignments(texts, declared, option)
    for name in values:
        if name not in declared:
            raise ValuesError(
                f"`{option} {name}=…`",
                ["no step or parameter has that name"],
                hint=did_you_mean(name, declared, f"there are: {', '.join(declared) or 'none'}"),
                names=list(declared),
            )
    return values


def _by_number(workflow: Definition, text: str) -> StepDef | None:
    if text.isascii() and text.isdigit() and 0 < int(text[:6]) <= workflow.total_steps:
        return workflow.steps[int(text[:6]) - 1]
    return None
