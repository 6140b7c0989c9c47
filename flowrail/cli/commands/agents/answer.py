"""`flow answer`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.cli.facts import given_answers
from flowrail.formatters.guidance.work import answered
from flowrail.operations.running import questions


@click.command(
    "answer",
    epilog=options.examples(
        "flow answer planner-k3x9q2 approve=Yes",
        "flow answer planner-k3x9q2 approve=other:'only the first milestone'",
    ),
)
@options.session_argument
@click.argument("answers", nargs=-1, required=True, metavar="Q=OPTION...")
@click.option("--reason", default="", metavar="TEXT", help="The reason, for the journal.")
@options.memory
@options.as_json
@options.store
@options.wait_in_a_crowd
def command(
    session_id: str,
    answers: tuple[str, ...],
    reason: str,
    found: str,
    remember: str,
    as_json: bool,
    store: str | None,
    wait: float,
) -> None:
    """Record the user's answers and print the next command

    Give Q=OPTION for each question, where OPTION is a label, or Q=other:TEXT for another answer.
    If a question allows several options, give one pair for each.
    """
    here = world(store=store, wait=wait)
    answer = questions.answer(
        here, session_id, given_answers(answers), reason, found=found, remember=remember
    )
    output.notes(answer.notes)
    if as_json:
        output.show(answer.guidance, "json")
    else:
        output.text(answered(answer.guidance, here.store.path))
