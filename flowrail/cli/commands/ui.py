"""`flow ui`."""

from __future__ import annotations

import gc
import webbrowser

import click

from flowrail.cli import options, output
from flowrail.cli.environment import SessionCall
from flowrail.web.server import serve


@SessionCall.command("ui", "flow ui", "flow ui --port 8765 --no-open")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="The port (default: a free one).")
@click.option("--no-open", is_flag=True, help="Do not open a browser; only print the address.")
@click.option(
    "--host", metavar="NAME", help="Also let other machines in, under this name. Needs --token-file."
)
@click.option(
    "--token-file", metavar="FILE", help="The secret that opens the page, for several people. Mode 600."
)
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
def ui_command(
    call: SessionCall, port: int, no_open: bool, host: str | None, token_file: str | None, idle: float
) -> None:
    """Open a web page that shows all sessions live

    It shows which session needs you, the path of each session, what its agent was shown, and handoffs. You can
    answer questions and abandon sessions on it, and, if you start it at a terminal, approve and waive evidence. It
    is only reachable from this machine, and the printed address opens it once. Needs the extra flowrail[web].
    """

    def ready(address: str) -> None:
        output.text(address)
        output.notes(["Press Ctrl+C to stop."])
        if not no_open:
            webbrowser.open(address)

    gc.enable()  # a command does without the collector, a server lives for long
    at_terminal = output.is_shown_to_person()  # before `environment`, which sets standard output aside
    here = call.environment  # a person uses the page, whoever started it
    serve(
        here,
        port=port,
        host=host,
        token_file=token_file,
        idle=60 * idle,
        at_terminal=at_terminal,
        ready=ready,
    )
