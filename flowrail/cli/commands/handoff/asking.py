"""Options that sending and trying again share."""

from __future__ import annotations

import click

from flowrail.cli import options

how = options.stacked(
    click.option("--reason", default="", metavar="WHY", help="Why it goes there; it travels with the work."),
    click.option("--yes", is_flag=True, help="Hand over though the target had this work before."),
    click.option("--approved", is_flag=True, help="The user approved a chain of more than five skills."),
    click.option(
        "-s",
        "--set",
        "assignments",
        multiple=True,
        metavar="NAME=VALUE",
        help="A fact beside those that the session reported. May be repeated.",
    ),
    click.option(
        "--facts", "facts_file", metavar="FILE", help="A JSON file with such facts; - reads standard input."
    ),
)
