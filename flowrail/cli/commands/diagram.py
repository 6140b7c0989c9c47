"""`flow diagram`."""

from __future__ import annotations

import click

from flowrail.cli import options, output, pictures
from flowrail.cli.asyncio_later import load_engine
from flowrail.cli.here import Here
from flowrail.errors import UsageError


@click.command("diagram")
@click.argument("skill", required=False, shell_complete=options.complete("skills"))
@pictures.form
@pictures.session
@click.option("--alone", is_flag=True, help="Without the workflows that its agents run (md, rst, html).")
@pictures.link
@pictures.into
@options.root
@options.store
def command(
    skill: str | None,
    form: str,
    session_id: str | None,
    alone: bool,
    link: str | None,
    into: str | None,
    roots: tuple[str, ...],
    store: str | None,
) -> None:
    """Draw a workflow, or a session on it

    With --session: where it is, the way it took with counts and times, what is left. svg and html need
    nothing else; png needs `pip install 'flowrail[png]'` or rsvg-convert. Read as text: nothing of the
    skill is run.
    """
    if skill is None and session_id is None:
        raise UsageError("a skill or a session is needed", hint="`flow list` shows the skills in sight")
    load_engine()
    from flowrail.diagrams.document import Drawn
    from flowrail.diagrams.extract import picture
    from flowrail.diagrams.trace import with_trace
    from flowrail.skills import drawing

    here = Here(store=store, roots=roots)
    if session_id is not None:
        first = drawing.of_session(session_id, skill, here.store)
    else:
        first = drawing.of_skill(skill or "", here.roots)
    together = form in pictures.WITH_OTHERS and not alone
    subjects = drawing.with_agents(first, here.roots) if together else [first]
    if any(each.computed for each in subjects):
        output.notes(["parts of the workflow are computed when it runs; they are left out"])
    drawn = [Drawn(each.workflow, with_trace(picture(each.workflow), each.records)) for each in subjects]
    pictures.put(drawn, form, link=link, into=into)
