"""`flow session adopt`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.cli.environment import world
from flowrail.formatters.guidance.as_data import session_item
from flowrail.operations.sessions.adopt import Adopted, adopt
from flowrail.text.phrases import count
from flowrail.text.safe_text import one_line


@click.command("adopt", epilog=options.examples("flow session adopt problem-analysis-k3x9q2"))
@options.session_argument
@options.as_json
@options.store
def command(session_id: str, as_json: bool, store: str | None) -> None:
    """Make a foreign session yours

    For you on this machine, and for this session only. Prints what the session is. Its records must
    be complete and are believed as they are: read `flow history ID` first.
    """
    here = world(store=store)
    taken = adopt(here, session_id)
    if as_json:
        item = session_item(taken.kept, store=here.shown_store)
        output.data({**item, **taken._asdict(), "kept": None} | {"session": session_id})
    else:
        output.text("\n".join(one_line(line) for line in _lines(taken)))


def _lines(taken: Adopted) -> list[str]:
    session = taken.kept.session
    stands = f"{session.status} at step {session.step}" if session.step else session.status
    runs = "code of" if taken.code else "texts of"
    return [
        f"{session.id} · revision {session.revision} · {stands}",
        f"begun by {taken.begun_by} at {taken.begun_at}; {count(taken.records, 'record')}, each as written",
        f"runs {runs} {session.skill} ({session.source}) in {taken.folder}",
        "it is yours now" if taken.was_foreign else "it was yours already",
        *([f"go on: {taken.command}"] if taken.command else []),
    ]
