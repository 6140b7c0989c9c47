"""`flow record`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.formatters.guidance.as_data import plain
from flowrail.operations.environment import Here
from flowrail.testing.record.python_test import source
from flowrail.testing.record.script import script


@click.command("record", epilog=options.examples("flow record problem-analysis-k3x9q2"))
@options.session_argument
@options.as_json
@options.store
def command(session_id: str, as_json: bool, store: str | None) -> None:
    """Turn a session into a test

    Prints Python that steps the same workflow in memory the same way, and holds where each report
    led: flow record ID > test_x.py. The facts of the session stand in it. What was rewound is
    left out; a fork begins with what its source did.
    """
    recorded = script(Here(store=store).store, session_id)
    if as_json:
        turns = [plain(turn._asdict()) for turn in recorded.turns]
        output.data({**plain(recorded._asdict()), "turns": turns, "test": source(recorded)})
    else:
        output.text(source(recorded).rstrip("\n"))
