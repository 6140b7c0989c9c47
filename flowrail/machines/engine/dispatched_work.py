"""The agents of a step: dispatches, claims, results, and the join.

A step's delegation is part of its definition. Entering the step records one dispatch for each item;
each is claimed under a lease and finished only by its holder, who has a token. The join decides when
the step may be reported.
"""

# Without `from __future__ import annotations`: texts would be compiled at every start.

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.errors import ConflictError, UsageError
from flowrail.machines.definition.step import Outcome, StepDef
from flowrail.machines.definition.step_parts import MOST_DISPATCHES, Dispatch, needed_by
from flowrail.machines.sessions.session import CLAIMED, PENDING, Dispatched, Session
from flowrail.storage.journal import too_large
from flowrail.text import limits, phrases, placeholders

RESULTS = 400_000
"""Bytes of the results of a step's agents together; each may use an equal share."""
_ID = r"d(\d{1,9})-\d{1,9}\Z"
_WHOLE = r"\$([a-z][a-z0-9_]*)\Z"


class JoinPendingError(ConflictError):
    """The step waits for agents that have not reported."""

    code = "JOIN_PENDING"


class DispatchGoneError(ConflictError):
    """The caller cannot end the dispatch: another agent holds it, or it has ended or was cancelled."""

    code = "DISPATCH_GONE"


class UnknownDispatchError(UsageError):
    """The session's step has no such dispatch."""

    code = "UNKNOWN_DISPATCH"


class TooManyDispatchesError(UsageError):
    """The list has more items than a step may dispatch."""

    code = "TOO_MANY_DISPATCHES"


class Join(NamedTuple):
    """The progress of a step's dispatches: how many must succeed, have succeeded, are open."""

    needed: int
    succeeded: int
    open: tuple[str, ...]
    total: int

    @property
    def met(self) -> bool:
        """Whether enough have succeeded."""
        return self.succeeded >= self.needed

    @property
    def hopeless(self) -> bool:
        """Whether it can no longer be met."""
        return not self.met and self.succeeded + len(self.open) < self.needed


class WorkResult(NamedTuple):
    """The answer of an agent whose dispatch has ended."""

    of: str
    """How the work ended, and which work: the status of its session, or the outcome reported for a dispatch."""
    facts: Mapping[str, Any]
    whole: Command
    """Prints the facts that are too long for the answer."""
    next: Command
    """For the agent that launched this one."""


def with_dispatch(session: Session, changed: Dispatched) -> Session:
    """Return *session* with one dispatch changed."""
    dispatches = (changed if known.id == changed.id else known for known in session.dispatches)
    return replace(session, dispatches=tuple(dispatches))


def find_dispatch(session: Session, dispatch_id: str) -> Dispatched:
    """Return a dispatch of the current step by its id."""
    known = {dispatch.id: dispatch for dispatch in session.dispatches}
    if dispatch_id not in known:
        match = re.match(_ID, dispatch_id)
        if match and int(match.group(1)) < session.revision:
            raise DispatchGoneError(
                f"dispatch `{dispatch_id}` belongs to a step that session `{session.id}` has left",
                hint="stop here and say so; further reports would be ignored",
                dispatch=dispatch_id,
                session=session.id,
            )
        raise UnknownDispatchError(
            f"session `{session.id}` has no dispatch `{dispatch_id[:40]}` now",
            hint=phrases.did_you_mean(
                dispatch_id[:40], known, Hint("see what it waits for: ", Command("status", session.id))
            ),
            dispatches=list(known),
        )
    return known[dispatch_id]


def held_by(session: Session, token: str) -> Dispatched:
    """Return the dispatch of the current step that *token* holds; refuse if it holds none."""
    for dispatch in session.dispatches:
        if dispatch.token == token and dispatch.status == CLAIMED:
            return dispatch
    raise DispatchGoneError(
        f"the token does not match a claimed dispatch of session `{session.id}`",
        hint="stop here and say so; further reports would be ignored",
        session=session.id,
    )


def new_dispatches(step: StepDef, values: Mapping[str, object], revision: int) -> tuple[Dispatched, ...]:
    """Return the dispatches that entering *step* records, one for each item."""
    work = step.work
    if work is None:
        return ()
    dispatches: list[Dispatched] = []
    size = 0
    for number, item in enumerate(_items(work, values, step), start=1):
        variables = {name: _filled(value, {**values, "item": item}) for name, value in work.vars.items()}
        size += sum(len(str(value)) for value in variables.values())
        if size > limits.DISPATCH_BYTES:
            raise too_large("the variables of the dispatches", size, limits.DISPATCH_BYTES)
        dispatches.append(
            Dispatched(
                id=f"d{revision}-{number}",
                agent=work.agent,
                workflow=work.workflow,
                vars=variables,
                item=item,
                model=work.model,
                lease=float(work.lease),
            )
        )
    return tuple(dispatches)


def prompt_of(step: StepDef, dispatch: Dispatched, values: Mapping[str, object]) -> str:
    """Return the prompt of a free-form agent."""
    work = step.work
    paragraphs = work.prompt if work is not None else ()
    fill = placeholders.Filling({**values, **dispatch.vars, "item": dispatch.item}, quoting=True).fill
    return "\n\n".join(map(fill, paragraphs))


def unmentioned_values(step: StepDef, dispatch: Dispatched) -> dict[str, object]:
    """Return the variables and the item of *dispatch* without a placeholder in its prompt."""
    work = step.work
    if work is None:
        return {}
    named = {name for text in work.prompt for name in placeholders.placeholders(text)}
    passed_on = {name for value in work.vars.values() for name in placeholders.placeholders(str(value))}
    item = {} if "item" in named | passed_on else {"item": dispatch.item}
    known = {**dispatch.vars, **item}
    return {name: value for name, value in known.items() if name not in named and value is not None}


def join_of(step: StepDef, dispatches: Sequence[Dispatched]) -> Join:
    """Return the progress of the step's dispatches."""
    work = step.work
    total = len(dispatches)
    needed = total if work is None else min(total, needed_by(work.join, total))
    return Join(
        needed=needed,
        succeeded=sum(dispatch.succeeded for dispatch in dispatches),
        open=tuple(dispatch.id for dispatch in dispatches if not dispatch.ended),
        total=total,
    )


def open_outcomes(join: Join, outcomes: Sequence[str]) -> list[str]:
    """Return which of *outcomes* can be reported: all if enough succeeded, all but `ok` if the join cannot be met."""
    if join.met:
        return list(outcomes)
    if join.hopeless and not join.open:
        return [outcome for outcome in outcomes if outcome != Outcome.OK]
    return []


def check_joined(step: StepDef, session: Session, outcome: str) -> None:
    """Refuse a report before enough agents have succeeded."""
    join = join_of(step, session.dispatches)
    if join.total == 0 or outcome in open_outcomes(join, [outcome]):
        return
    failed = join.total - join.succeeded - len(join.open)
    ended = f"{failed} of {join.total} did not" if failed else f"{join.succeeded} of {join.needed} have"
    instead = "report another outcome, or " if {*step.transitions} - {Outcome.OK} else ""
    raise JoinPendingError(
        f"step `{step.id}` is waiting for its agents: {join.needed} must succeed, {ended}",
        hint=Hint("see the remaining commands: ", Command("status", session.id))
        if join.open
        else Hint(f"{instead}claim one that failed or was cancelled again: ", Command("resume", session.id)),
        step=step.id,
        needed=join.needed,
        succeeded=join.succeeded,
        waits_for=list(join.open),
    )


def is_hopeless(step: StepDef, session: Session) -> bool:
    """Return whether too many agents failed, so that the step cannot succeed, and it can fail."""
    join = join_of(step, session.dispatches)
    return Outcome.FAIL in step.transitions and join.hopeless and not join.open


def claimable(dispatch: Dispatched, now: str) -> bool:
    """Return whether *dispatch* can be claimed: it is pending, its lease has expired, it failed or was cancelled."""
    if dispatch.status == PENDING:
        return True
    if dispatch.status == CLAIMED:
        return dispatch.expires_at is not None and dispatch.expires_at <= now
    return not dispatch.succeeded


def result_limit(total: int) -> int:
    """Return the limit in bytes for the result of one of *total* agents."""
    return RESULTS // max(1, total)


def cut(result: Mapping[str, object], most: int, where: str) -> dict[str, object]:
    """Return *result* in about *most* bytes. Values that are too long are replaced by *where* to find them."""
    sizes = {name: len(json.dumps(value, default=list)) for name, value in result.items()}
    left = most - sum(len(name) + 4 for name in sizes)
    shortened = dict(result)
    for name in sorted(sizes, key=lambda key: -sizes[key]):
        if sum(sizes.values()) <= left:
            break
        shortened[name] = f"({sizes[name]} bytes: {where})"
        sizes[name] = len(str(shortened[name]))
    return shortened


def _items(work: Dispatch, values: Mapping[str, object], step: StepDef) -> list[object]:
    if work.over is None:
        return [None]
    items = values.get(work.over) if isinstance(work.over, str) else work.over
    if items is None:
        return []
    if not isinstance(items, (list, tuple)):
        items = [items]
    check_item_count(step, items)
    return list(items)


def check_item_count(step: StepDef, items: Sequence[object]) -> None:
    """Refuse a list with more items than a step may dispatch."""
    if len(items) > MOST_DISPATCHES:
        raise TooManyDispatchesError(
            f"step `{step.id}` would create {len(items)} dispatches; the limit is {MOST_DISPATCHES}",
            hint="use fewer items, for example by grouping several into one",
            step=step.id,
        )


def _filled(value: object, values: Mapping[str, object]) -> object:
    """Return a variable's value: a placeholder alone keeps the type of its value."""
    if not isinstance(value, str):
        return value
    whole = re.match(_WHOLE, value)
    return values.get(whole.group(1)) if whole else placeholders.fill(value, values)
