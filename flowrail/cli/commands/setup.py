"""Commands about the installation and its server."""

from __future__ import annotations

import gc
import os

import click

from flowrail.cli import options, output
from flowrail.errors import UsageError
from flowrail.formatters.reports.doctor import report
from flowrail.operations.doctor import diagnose
from flowrail.operations.doctor.section import DoctorContext
from flowrail.operations.environment import Environment, require_extra


@click.command("doctor", epilog=options.examples("flow doctor"))
@options.as_json
@options.root
@options.store
def doctor_command(as_json: bool, roots: tuple[str, ...], store: str | None) -> int:
    """Examine the whole set-up and say what to fix

    Locations and files of skills, collisions, dialects, workflows, hosts and their hooks, sessions,
    approvals, versions. Nothing runs and nothing is written. Exits 1 if there is an error.
    """
    here = Environment(store=store, roots=roots)
    context = DoctorContext(here.cwd, here.home, here.environ, here.state, here.store_path, roots)
    examined = diagnose(context)
    if as_json:
        output.data(examined)
    else:
        output.report(report(examined))
    return 0 if examined["ok"] else 1


@click.command("mcp", epilog=options.examples("flow mcp --dir ."))
@click.option(
    "--dir", "folder", metavar="DIR", help="Work as if started there (default: the current folder)."
)
@options.store
@options.root
def mcp_command(folder: str | None, store: str | None, roots: tuple[str, ...]) -> None:
    """Serve the commands as tools of the Model Context Protocol

    On standard input and output, for one host, until it closes them. Needs the extra
    flowrail[mcp]. Skills that changed on disk are noticed at the next call.
    """
    require_extra("mcp", "mcp", "mcp_types")
    if folder is not None:
        try:
            os.chdir(folder)
        except OSError as error:
            raise UsageError(f"{folder} cannot be entered ({error.strerror})", hint="name a folder") from None
    from flowrail.mcp.server import serve  # needs the extra

    gc.enable()  # a command does without the collector, a server lives for long
    serve(store=store, roots=roots)
