"""`flow ui`."""

from __future__ import annotations

import threading
import webbrowser
from collections.abc import Sequence

import click

from flowrail.cli import options, output
from flowrail.operations.environment import Environment
from flowrail.web.server import serve


@click.command("ui", epilog=options.examples(["flow ui", "flow ui --port 8765 --no-open"]))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port (default: a free one).")
@click.option("--no-open", is_flag=True, help="Do not open a browser; only print the address.")
@click.option(
    "--idle",
    type=click.FloatRange(min=0.05),
    default=10.0,
    show_default=True,
    metavar="MINUTES",
    help="Stop after this time without an open page.",
)
@options.root
@options.store
def ui_command(port: int, no_open: bool, idle: float, roots: Sequence[str], store: str | None) -> None:
    """Open a web page that shows all sessions live

    It shows which session needs you, the path of each session, what its agent was shown, and handoffs. If you start
    it yourself at a terminal, you can answer questions and approve evidence on it. It is only reachable from this
    machine, and the printed address opens it once. Needs the extra flowrail[web].
    """

    def ready(address: str, file: str) -> None:
        output.text(address)
        output.notes(["Press Ctrl+C to stop."])
        if not no_open:  # in a thread: some browsers return only when they are closed
            threading.Thread(target=webbrowser.open, args=(f"file://{file}",), daemon=True).start()

    at_terminal = output.is_shown_to_person()  # before standard output is set aside
    output.keep_apart()
    environment = Environment(
        store=store, roots=roots, tell=lambda line: output.notes([line]), conversation=""
    )
    is_person = at_terminal and not environment.agent_mark
    serve(environment, port=port, idle=60 * idle, is_person=is_person, ready=ready)
