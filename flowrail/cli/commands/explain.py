"""`flow explain`: what a code means."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.operations.explanations import explain


@click.command("explain", epilog=options.examples("flow explain FR163"))
@click.argument("code", shell_complete=options.complete("codes"))
@options.as_json
def explain_command(code: str, as_json: bool) -> None:
    """Explain the code of a finding

    Prints the page of a finding of `flow check`: what it means, a correct example, and a change that causes it.
    For a note of `flow discover` or `flow doctor`, prints what to do.
    """
    explanation = explain(code)
    if as_json:
        output.data(explanation._asdict())
    else:
        output.markdown(explanation.page)
