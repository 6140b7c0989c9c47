"""`flow hook plugin`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.discovery.locations import named
from flowrail.errors import UsageError
from flowrail.operations.environment import Environment
from flowrail.operations.skills.plugin import build
from flowrail.text.safe_text import one_line


@click.command("plugin", epilog=options.examples("flow hook plugin ./flowrail-plugin"))
@click.argument("folder", metavar="DIR")
@options.as_json
def command(folder: str, as_json: bool) -> None:
    """Write a Claude Code plugin: hooks and skills in one

    DIR becomes a marketplace with one plugin. Add it from there or keep it in a repository.
    The plugin contains a SKILL.md for each skill. The steps stay in the flowrail package, which must be
    installed too.
    """
    if not folder.strip():
        raise UsageError("DIR is empty", hint="name a new folder, such as ./flowrail-plugin")
    here = Environment()
    built = build(named(folder, here.cwd, here.home))
    if as_json:
        output.data(built._asdict())
        return
    place = one_line(built.folder)
    output.text(f"{len(built.files)} files in {place}\nIn Claude Code: /plugin marketplace add {place}")
    output.text("then: /plugin install flowrail@flowrail")
