"""A first look at the order rules of sessions: the tool calls that count for one.

A hook loads this module only for a session whose workflow has order rules.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from flowrail.hooks.call import Call
from flowrail.hooks.first_look import FoundSession, project_of
from flowrail.rules.order_rule import WATCHED, Event, OrderRule, OrderSyntaxError, parse_rule
from flowrail.rules.tools import ToolUse


def counted_use(found: FoundSession, workflow: Mapping[str, Any], call: Call) -> ToolUse | None:
    """Return the use of the tool if it counts for an order rule of the session, and mark that its calls are watched."""
    rules = _rules(workflow)
    if not any(rule.patterns for rule in rules):
        return None
    _mark(found)
    use = call.tool_use(project_of(found, call), os.path.join(found.folder, "work"))
    return use if any(True in rule.matched(Event(call=use)) for rule in rules) else None


def _rules(workflow: Mapping[str, Any]) -> list[OrderRule]:
    steps = [step["id"] for step in workflow["steps"]]
    rules = []
    for text in workflow["order"]:
        with suppress(OrderSyntaxError):
            rules.append(parse_rule(text, steps))
    return rules


def _mark(found: FoundSession) -> None:
    path = os.path.join(found.folder, WATCHED)
    if not os.path.exists(path):
        with suppress(OSError):
            os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_NOFOLLOW, 0o600))
