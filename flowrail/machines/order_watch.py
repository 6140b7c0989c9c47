"""The order rules of a session: their states after each move and each tool call. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from flowrail.machines.frozen import Frozen
from flowrail.machines.session import Session
from flowrail.machines.workflow import Workflow
from flowrail.outcome import Outcome
from flowrail.rules.order_rule import Event, OrderRule
from flowrail.rules.tools import ToolUse
from flowrail.session_status import COMPLETED

CALL, DENIED = "call", "denied"
"""The kinds of records of a call that counts for an order rule, and of a call or a report that a rule denies."""


def follow(workflow: Workflow, session: Session, *events: Event) -> tuple[Session, tuple[OrderRule, ...]]:
    """Return *session* with the states of its order rules after *events*, and the rules that they break."""
    states: dict[str, int] = dict(session.order)
    broken: dict[str, OrderRule] = {}
    for event in events:
        for rule in workflow.order_rules:
            if event.call is not None and not rule.patterns:
                continue
            matched = rule.matched(event)
            if True in matched:
                state, is_broken = rule.follow(states.pop(rule.text, 0), matched)
                states |= {rule.text: state} if state else {}
                broken |= {rule.text: rule} if is_broken else {}
    changed = session if states == session.order else replace(session, order=Frozen(states))
    return changed, tuple(broken.values())


def begun(workflow: Workflow, session: Session) -> Session:
    """Return a new *session* after the entry of its first step."""
    return follow(workflow, session, Event(str(session.step)))[0]


def moved(workflow: Workflow, before: Session, after: Session) -> tuple[Session, tuple[OrderRule, ...]]:
    """Return the session *after* a move with the states of its order rules, and the rules that the move breaks."""
    if not workflow.order or after.last is None:
        return after, ()
    session, broken = follow(workflow, replace(after, order=before.order), *_events(after))
    owed = [rule for rule in workflow.order_rules if rule.is_owed(session.order.get(rule.text, 0))]
    return session, (*broken, *(owed if after.status == COMPLETED else ()))


def called(workflow: Workflow, session: Session, use: ToolUse) -> tuple[Session, tuple[OrderRule, ...]]:
    """Return *session* after a tool call, and the rules that the call breaks."""
    return follow(workflow, session, Event(call=use))


def _events(after: Session) -> Iterator[Event]:
    """Yield what the last move was: an accepted outcome, and the entry of a step. At the limit, an `iterate` is `ok`."""
    move = after.last
    assert move is not None  # noqa: S101 - the session has moved
    if move.outcome in set(Outcome):
        yield Event(move.step, str(Outcome.OK) if move.capped else move.outcome)
    if after.step is not None:
        yield Event(after.step)
