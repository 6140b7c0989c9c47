"""Options that setting up and taking away share."""

from __future__ import annotations

import click

from flowrail.hosts.settings import HOSTS, OTHER

host = click.option(
    "--host",
    type=click.Choice([*HOSTS, OTHER]),
    default=HOSTS[0],
    show_default=True,
    help="Whose settings.",
)
where = click.option(
    "--to",
    type=click.Choice(["project", "home"]),
    default="project",
    show_default=True,
    help="The project's settings, or your own.",
)
