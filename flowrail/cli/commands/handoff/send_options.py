"""The options that `send` and `retry` share."""

from __future__ import annotations

import click

from flowrail.cli import options

send_options = options.stacked(
    click.option("--reason", default="", metavar="WHY", help="Why this target; part of the payload."),
    click.option("--yes", is_flag=True, help="Allow a target that had this work before."),
    click.option("--approved", is_flag=True, help="The user approved a chain of more than five skills."),
    click.option(
        "-s",
        "--set",
        "assignments",
        multiple=True,
        metavar="NAME=VALUE",
        help="A fact that the session did not report. Repeatable.",
    ),
    click.option(
        "--facts", "facts_file", metavar="FILE", help="A JSON file with facts; - reads standard input."
    ),
)
