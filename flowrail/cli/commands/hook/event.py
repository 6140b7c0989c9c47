"""The commands that hosts call. `__main__` answers them without click; these are for help, and for other words."""

from __future__ import annotations

import click

from flowrail.cli.hook_entry import run


def event(name: str, text: str) -> click.Command:
    """Return the command that answers the event *name*."""

    def answer() -> int:

        return run(name)

    return click.Command(name, callback=answer, help=text)
