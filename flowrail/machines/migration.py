"""Move a session to another version of its workflow. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from flowrail.errors import UsageError
from flowrail.machines.difference import same_structure
from flowrail.machines.frozen import Frozen, freeze_deep
from flowrail.machines.reported_values import check_params
from flowrail.machines.session import Session
from flowrail.machines.transition import entered, step_gone
from flowrail.machines.workflow import Workflow
from flowrail.text.phrases import did_you_mean, listed


def migrated(
    session: Session,
    old: Workflow | None,
    new: Workflow,
    *,
    to: str | None,
    params: Mapping[str, object],
    now: str,
) -> Session:
    """Return *session* as it continues with *new* instead of *old*, which is `None` if it is lost.

    If its current step is the same, or if it has ended, nothing else changes. Otherwise the session enters the step
    again: its revision increases, and its dispatches and questions start again.
    """
    step = _new_step(session, new, to)
    session = replace(
        session,
        params=check_params(new, {**_kept_params(session, new), **params}),
        visits=_of_steps(session.visits, new),
        entered=_of_steps(session.entered, new),
        decided=_of_steps(session.decided, new),
        grants=_of_steps(session.grants, new),
    )
    if step is None:
        return session
    before = old.get(session.step) if old is not None else None
    if step == session.step and same_structure(before, new.step(step)):
        return session
    moved = replace(
        session,
        step=step,
        visits=session.visits if step in session.visits else Frozen({**session.visits, step: 1}),
        revision=session.revision + 1,
        moved_at=now,
        last=None,
        dispatches=(),
        questions=(),
        evidence=None,
    )
    return entered(new, moved)


def _new_step(session: Session, new: Workflow, to: str | None) -> str | None:
    """Return the step at which the session continues, or `None` if it has ended."""
    ids = [step.id for step in new.steps]
    if to is not None and to not in new:
        raise UsageError(
            f"the workflow has no step `{to[:80]}`",
            hint=did_you_mean(to[:80], ids, f"it has {listed(ids)}"),
            step=to[:80],
            steps=ids,
        )
    if session.step is None or not session.is_open:
        return None
    if to is None and session.step not in new:
        raise step_gone(new, session)
    return to or session.step


def _kept_params(session: Session, new: Workflow) -> dict[str, object]:
    """Return the parameters of *session* that *new* has and that are not its defaults, which need not fit."""
    return {
        name: value
        for name, value in session.params.items()
        if name in new.params
        and not (new.params[name].has_default and freeze_deep(new.params[name].default) == freeze_deep(value))
    }


def _of_steps(counts: Mapping[str, Any], workflow: Workflow) -> Frozen[str, Any]:
    return Frozen({step: value for step, value in counts.items() if step in workflow})
