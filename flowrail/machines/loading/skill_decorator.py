"""The deprecated ``@skill`` decorator of scripts: a ``STEPS`` table becomes a workflow."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from flowrail.machines.step import StepDef
from flowrail.machines.workflow import Workflow

F = TypeVar("F", bound=Callable[..., object])


def skill(
    name: str,
    *,
    total_steps: int | None = None,
    steps: Mapping[int, Mapping[str, object]] | None = None,
    description: str = "",
) -> Callable[[F], F]:
    """Turn a function's ``STEPS`` into a linear workflow, available as ``function.workflow``.

    *steps* is the table, by default the ``STEPS`` of the function's module; *total_steps* is checked
    against it and never needed. Deprecated: write a `Workflow`, whose transitions are data.
    """
    warnings.warn(
        "@skill is kept for old scripts; write a Workflow instead", DeprecationWarning, stacklevel=2
    )

    def decorate(function: F) -> F:
        table = steps if steps is not None else function.__globals__.get("STEPS", {})
        workflow = linear_workflow(name, table, description=description)
        if total_steps is not None and total_steps != workflow.total_steps:
            raise ValueError(f"@skill says {total_steps} steps, STEPS has {workflow.total_steps}")
        function.workflow = workflow  # type: ignore[attr-defined]
        return function

    return decorate


def linear_workflow(name: str, table: Mapping[int, Mapping[str, Any]], *, description: str) -> Workflow:
    """Return the workflow that takes the steps of *table* in the order of their numbers."""
    numbers = sorted(table)
    following = [*numbers[1:], None]
    return Workflow(
        name,
        *(
            StepDef(
                id=f"step{number}",
                title=str(table[number].get("title", f"Step {number}")),
                actions=tuple(table[number].get("actions", ())),
                next={"ok": None if after is None else f"step{after}"},
            )
            for number, after in zip(numbers, following, strict=False)
        ),
        description=description,
    )
