"""`flow finish`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.cli.facts import facts_of
from flowrail.errors import UsageError
from flowrail.formatters.guidance.content import result_lines
from flowrail.formatters.guidance.work import ended_data
from flowrail.operations.running import agents
from flowrail.text.safe_text import visible


@click.command(
    "finish",
    epilog=options.examples(
        "flow finish deepthink-k3x9q2 d2-1 ok --token 7kq2m9xw4r3p",
        "flow finish deepthink-k3x9q2 d2-1 --cancel",
    ),
)
@options.session_argument
@click.argument("dispatch")
@click.argument("outcome", required=False)
@click.option("--token", metavar="T", help="The token that came with the prompt.")
@click.option(
    "-s",
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="A fact. May be repeated.",
)
@click.option(
    "--facts", "facts_file", metavar="FILE", help="A JSON file with the result; - reads standard input."
)
@options.memory
@click.option("--cancel", is_flag=True, help="Cancel the dispatch. Needs no token.")
@options.as_json
@options.store
@options.wait_in_a_crowd
def command(
    session_id: str,
    dispatch: str,
    outcome: str | None,
    token: str | None,
    assignments: tuple[str, ...],
    facts_file: str | None,
    found: str,
    remember: str,
    cancel: bool,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Report the result of a dispatch

    OUTCOME is ok or fail. A late or second result is refused; the same result again prints the same
    answer. Prints the lines that the agent answers with.
    """
    here = world(store=store, wait=wait)
    if cancel and outcome is not None:
        raise UsageError(f"`{outcome[:40]}` and --cancel exclude each other", hint="leave one of them out")
    if cancel:
        ended = agents.cancel(here, session_id, dispatch)
    elif outcome is None or token is None:
        raise UsageError(
            "the outcome and its token are missing",
            hint="give both, or give --cancel",
        )
    else:
        facts = facts_of(assignments, facts_file)
        ended = agents.finish(
            here, session_id, dispatch, outcome, token=token, facts=facts, found=found, remember=remember
        )
    if as_json:
        output.data(ended_data(ended))
    else:
        output.text(visible("\n".join(result_lines(ended.answer, str))))
