"""`flow mcp`: the server for tools."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from flowrail.cli import options
from flowrail.errors import UsageError
from flowrail.mcp.tool_server import serve


@click.command("mcp", epilog=options.examples(["flow mcp --dir ."]))
@click.option(
    "--dir", "folder", metavar="DIR", help="Work as if started there (default: the current folder)."
)
@options.store
@options.root
def mcp_command(folder: str | None, store: str | None, roots: Sequence[str]) -> None:
    """Serve the commands as tools of the Model Context Protocol

    On standard input and output, for one host, until it closes them. Needs the extra
    flowrail[mcp]. Skills that changed on disk are noticed at the next call.
    """
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise UsageError(f"{folder} cannot be entered ({error.strerror})", hint="name a folder") from None
    serve(store=store, roots=roots)
