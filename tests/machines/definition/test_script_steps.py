"""Routings of scripts that print their own steps; `tests/seeds` runs such scripts."""

from __future__ import annotations

import pytest

from flowrail.formatters.blocks.step import next_command
from flowrail.machines.definition.script_steps import (
    BranchCommand,
    BranchRouting,
    FlatCommand,
    LinearRouting,
    Routing,
    TerminalRouting,
)


@pytest.mark.parametrize(
    ("routing", "following"),
    [
        (LinearRouting(), FlatCommand("python3 plan.py --step 3")),
        (BranchRouting(4, 1), BranchCommand("python3 plan.py --step 4", "python3 plan.py --step 1")),
        (TerminalRouting(), None),
    ],
)
def test_a_routing_becomes_the_next_command(
    routing: Routing, following: FlatCommand | BranchCommand | None
) -> None:
    assert next_command(routing, script="plan.py", step=2) == following
