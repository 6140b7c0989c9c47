"""`flow explain`: what a code means."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.options import Call
from flowrail.operations.explanations import explain


@Call.command("explain", "flow explain FR163")
@click.argument("code", shell_complete=options.complete("codes"))
@options.as_json
def explain_command(call: Call, code: str) -> None:
    """Explain the code of a finding

    Prints the page of a finding of `flow check`: what it means, a correct example, and a change that causes it.
    For a note of `flow discover` or `flow doctor`, prints what to do.
    """
    explanation = explain(code)
    if call.as_json:
        output.data(explanation._asdict())
    elif output.is_for_people():
        output.put(output.terminal().rendered_markdown(explanation.page))
    else:
        output.text(explanation.page.rstrip("\n"))
