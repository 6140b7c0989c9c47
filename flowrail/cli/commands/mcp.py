"""`flow mcp`: the server for tools."""

from __future__ import annotations

import os

import click

from flowrail.cli import options
from flowrail.cli.options import Call
from flowrail.errors import UsageError
from flowrail.mcp.tool_server import serve


@Call.command("mcp", "flow mcp --dir .")
@click.option(
    "--dir", "folder", metavar="DIR", help="Work as if started there (default: the current folder)."
)
@options.store
@options.root
def mcp_command(call: Call, folder: str | None) -> None:
    """Serve the commands as tools of the Model Context Protocol

    On standard input and output, for one host, until it closes them. Needs the extra
    flowrail[mcp]. Skills that changed on disk are noticed at the next call.
    """
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise UsageError(f"{folder} cannot be entered ({error.strerror})", hint="name a folder") from None
    serve(store=call.store, roots=call.roots)
