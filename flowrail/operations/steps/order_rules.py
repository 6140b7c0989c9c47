"""Order rules at reports: a move that would break one is refused."""

from __future__ import annotations

import os

from flowrail.command import Hint
from flowrail.errors import ConflictError
from flowrail.machines import order_watch
from flowrail.machines.session import Session
from flowrail.operations.steps.held_session import HeldSession
from flowrail.rules.order_rule import OrderRule
from flowrail.rules.tools import WATCHED


def check_move(held: HeldSession, before: Session, after: Session) -> None:
    """Refuse a report whose move would break an order rule, and record that.

    A rule about tool calls counts only if hooks see the calls of the session.
    """
    if not held.workflow.order or after.revision == before.revision:
        return
    broken = order_watch.moved(held.workflow, before, after)[1]
    is_watched = os.path.exists(os.path.join(held.environment.store.folder(before.id), WATCHED))
    for rule in broken:
        if is_watched or not rule.patterns:
            raise broken_rule(held, rule, f"the report on step `{before.step}`")


def broken_rule(held: HeldSession, rule: OrderRule, what: str) -> ConflictError:
    """Record that a rule denies something, and return the refusal."""
    session = held.kept.session
    held.commit(session, order_watch.DENIED, rule=rule.text, call=what)
    resume = held.environment.command("resume", session.id)
    return ConflictError(
        f"{what} would break the order rule `{rule.text}`: {rule.missing}",
        code="ORDER_BROKEN",
        hint=Hint("see the step and its commands: ", resume),
        session=session.id,
        rule=rule.text,
    )
