"""The order rules of a session: their states after each move and each tool call. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowrail.machines.frozen import Frozen
from flowrail.machines.outcome import Outcome
from flowrail.machines.session import COMPLETED, Session
from flowrail.machines.workflow import Workflow
from flowrail.rules.order_rule import Event, OrderRule, Watch
from flowrail.rules.tools import ToolUse

CALL, DENIED = "call", "denied"
"""The kinds of records of a call that counts for an order rule, and of a call or a report that a rule denies."""


def watch_of(workflow: Workflow, session: Session) -> Watch:
    """Return the order rules of *session* with their states."""
    rules = workflow.order_rules
    return Watch(rules, tuple(session.order.get(rule.text, 0) for rule in rules))


def with_watch(session: Session, watch: Watch) -> Session:
    """Return *session* with the states of its order rules."""
    states = {rule.text: state for rule, state in zip(watch.rules, watch.states, strict=True) if state}
    return session if states == session.order else replace(session, order=Frozen(states))


def begun(workflow: Workflow, session: Session) -> Session:
    """Return a new *session* after the entry of its first step."""
    if not workflow.order:
        return session
    return with_watch(session, watch_of(workflow, session).follow(Event(str(session.step)))[0])


def moved(workflow: Workflow, before: Session, after: Session) -> tuple[Session, tuple[OrderRule, ...]]:
    """Return the session *after* a move with the states of its order rules, and the rules that the move breaks."""
    if not workflow.order or after.last is None:
        return after, ()
    watch, broken = watch_of(workflow, before).follow(*_events(after))
    owed = watch.owed if after.status == COMPLETED else ()
    return with_watch(after, watch), (*broken, *owed)


def called(workflow: Workflow, session: Session, use: ToolUse) -> tuple[Session, tuple[OrderRule, ...]]:
    """Return *session* after a tool call, and the rules that the call breaks."""
    watch, broken = watch_of(workflow, session).follow(Event(call=use))
    return with_watch(session, watch), broken


def _events(after: Session) -> Iterator[Event]:
    """Yield what the last move was: an accepted outcome, and the entry of a step. At the limit, an `iterate` is `ok`."""
    move = after.last
    assert move is not None  # noqa: S101 - the session has moved
    if move.outcome in set(Outcome):
        yield Event(move.step, str(Outcome.OK) if move.capped else move.outcome)
    if after.step is not None:
        yield Event(after.step)
