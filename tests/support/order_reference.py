"""What order rules mean: each event is judged by looking at everything before it. Slow, and close to the words.

This is the reference for the automata of `flowrail.rules.order_rule`, and for the proof.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowrail.rules.order_rule import Event, Form, OrderRule, Side
from flowrail.rules.tools import ToolUse

FORMS = (
    "{a} before {b}",
    "{a} before each {b}",
    "never {a} after {b}",
    "never {a} after {b} until {c}",
    "{a} after {b}",
    "at most {n} {a}",
    "at most {n} {a} per attempt of {step}",
)
"""The forms of order rules."""


def call(command: str) -> Event:
    """Return a call of the shell."""
    return Event(call=ToolUse("Bash", {"command": command}, "/p", "/p", "/home/me"))


def entry(step: str) -> Event:
    """Return the entry of a step."""
    return Event(step)


def report(step: str, outcome: str) -> Event:
    """Return an accepted outcome."""
    return Event(step, outcome)


def breaks(rule: OrderRule, events: Sequence[Event], position: int) -> bool:
    """Return whether the event at *position* breaks *rule*."""
    is_first, is_then = _is(rule.first, events[position]), _is(rule.then, events[position])
    if rule.form is Form.BEFORE and is_then:
        since = _last(rule.then, events[:position]) if rule.each else 0
        return not any(_is(rule.first, event) for event in events[max(since, 0) : position])
    if rule.form is Form.NEVER and is_then:
        armed = _last(rule.first, events[:position])
        return armed >= 0 and _last(rule.until, events[:position]) <= armed
    if rule.form is Form.AT_MOST and is_first:
        since = max(_last(rule.per, events[: position + 1]), 0)
        return sum(_is(rule.first, event) for event in events[since : position + 1]) > rule.most
    return False


def is_owed(rule: OrderRule, events: Sequence[Event]) -> bool:
    """Return whether a session that completes after *events* breaks *rule*."""
    owed = _last(rule.first, events)
    return rule.form is Form.AFTER and owed >= 0 and _last(rule.then, events) <= owed


def _is(side: Side | None, event: Event) -> bool:
    return side is not None and side.matches(event)


def _last(side: Side | None, events: Sequence[Event]) -> int:
    return max((position for position, event in enumerate(events) if _is(side, event)), default=-1)
