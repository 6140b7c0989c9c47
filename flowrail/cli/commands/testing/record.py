"""`flow skill record`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.formatters.guidance.as_data import plain
from flowrail.operations.environment import Environment
from flowrail.testing.record.python_test import source
from flowrail.testing.record.script import script


@click.command("record", epilog=options.examples("flow skill record problem-analysis-k3x9q2"))
@options.session_argument
@options.as_json
@options.store
def command(session_id: str, as_json: bool, store: str | None) -> None:
    """Turn a session into a test

    Prints a Python test that runs the same workflow in memory with the same reports and checks
    where each one leads: flow skill record ID > test_x.py. The test contains the facts of the session.
    Rewound reports are left out; a fork begins with the reports of its source.
    """
    recorded = script(Environment(store=store).store, session_id)
    if as_json:
        turns = [plain(turn._asdict()) for turn in recorded.turns]
        output.data({**plain(recorded._asdict()), "turns": turns, "test": source(recorded)})
    else:
        output.text(source(recorded).rstrip("\n"))
