"""`flow explain`: what a code means."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.options import Call
from flowrail.operations.explanations import explain, listed_codes
from flowrail.text.report import Table, columns


@Call.command("explain", "flow explain FR163", "flow explain")
@click.argument("code", required=False, shell_complete=options.complete("codes"))
@options.as_json
def explain_command(call: Call, code: str | None) -> None:
    """Explain the code of a finding or an error, or list the codes

    Prints the page of a finding of `flow check`: what it means, a correct example, and a change that causes it.
    For a note of `flow discover` or `flow doctor`, prints what to do. For an error, prints when it occurs.
    """
    if code is None:
        codes = listed_codes()
        rows = [[listed.code, listed.kind, listed.about] for listed in codes]
        table = Table(columns("code", "kind", "about", wraps=("about",)), rows)
        call.answer({"codes": [listed._asdict() for listed in codes]}, [table])
        return
    explanation = explain(code)
    if call.as_json:
        output.data(explanation._asdict())
    elif output.is_for_people():
        output.put(output.terminal().rendered_markdown(explanation.page))
    else:
        output.text(explanation.page.rstrip("\n"))
