"""`flow ask`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.cli.facts import read_text
from flowrail.formatters.guidance.work import put_data, put_text
from flowrail.machines.engine.question_input import parse_questions
from flowrail.operations.running import questions as running_questions


@click.command(
    "ask", epilog=options.examples("flow ask planner-k3x9q2 questions.xml", "flow ask planner-k3x9q2 -")
)
@options.session_argument
@click.argument("file")
@click.option("--token", metavar="T", help="The token that came with the prompt.")
@options.memory
@options.as_json
@options.store
@options.wait_in_a_crowd
def command(
    session_id: str,
    file: str,
    token: str | None,
    found: str,
    remember: str,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Put an agent's questions to the user

    FILE holds the needs_user_input block or the same as JSON; - reads standard input. The session
    waits for the answers. Prints the block that the agent returns as its whole answer.
    """
    text, source = read_text(file, what="the file of questions")
    questions = parse_questions(text, source=source)
    here = world(store=store, wait=wait)
    put = running_questions.ask(here, session_id, questions, token=token, found=found, remember=remember)
    if as_json:
        output.data(put_data(put))
    else:
        output.text(put_text(put))
