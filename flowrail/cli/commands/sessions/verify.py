"""`flow session verify`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.command import Command, Hint
from flowrail.errors import UsageError
from flowrail.operations.sessions import verify
from flowrail.text.phrases import count
from flowrail.text.safe_text import one_line


@click.command(
    "verify",
    epilog=options.examples(
        "flow session verify --all", "flow session verify problem-analysis-k3x9q2 --head 1f0c6d2a9b3e4857"
    ),
)
@options.optional_session
@click.option("--all", "every", is_flag=True, help="Verify every session (the default without ID).")
@click.option("--head", metavar="HEX", help="A head from an earlier run. It must be in the journal.")
@options.as_json
@options.store
def command(session_id: str | None, every: bool, head: str | None, as_json: bool, store: str | None) -> int:
    """Check that sessions are as they were written

    Recomputes the chain of records, the signature, and each move with the session's own workflow.
    Compares the snapshot and the texts with the journal. If anything differs, exits 1 and names file
    and line. Nothing is run or changed.
    """
    if session_id and every:
        raise UsageError("an ID and --all are both given", hint="leave one of them out")
    if head and not session_id:
        raise UsageError(
            "--head is that of one session",
            hint=Hint("name it: ", Command("session verify", "ID", head="HEX")),
        )
    kept = world(store=store).store
    output.collect_garbage()  # each session leaves an engine behind
    found = [verify.verify(kept, session_id, head=head)] if session_id else list(verify.verify_all(kept))
    wrong = sum(len(each.problems) for each in found)
    if as_json:
        output.data({"sessions": [_data(each) for each in found], "ok": not wrong})
    else:
        lines = [line for each in found for line in _lines(each)]
        verdict = "nothing is wrong" if not wrong else f"{wrong} found"
        output.text("\n".join([*lines, f"{count(len(found), 'session')} verified, {verdict}"]))
    return 1 if wrong else 0


def _data(each: verify.Verified) -> dict[str, object]:
    return {
        **each._asdict(),
        "problems": [problem._asdict() for problem in each.problems],
        "notes": list(each.notes),
        "ok": not each.problems,
    }


def _lines(each: verify.Verified) -> list[str]:
    yes = "damaged" if each.problems else "as it was written"
    moves = f"{count(each.moves, 'move')}, {each.judged} judged again"
    return [
        f"{each.session}: {yes}; {count(each.records, 'record')}, {moves}; head {each.head}",
        *(
            f"  {one_line(problem.place)}: {one_line(problem.message)} [{problem.code}]"
            for problem in each.problems
        ),
        *(f"  note: {one_line(note)}" for note in each.notes),
    ]
