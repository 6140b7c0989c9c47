"""`flow untrust`."""

from __future__ import annotations

import click

from flowrail import trust
from flowrail.cli import options, output
from flowrail.cli.here import Here
from flowrail.skills.allowing import find_folder


@click.command("untrust", epilog=options.examples("flow untrust my-skill"))
@options.skill
@options.as_json
@options.root
def command(skill: str, as_json: bool, roots: tuple[str, ...]) -> None:
    """Take back what `flow trust` allowed

    The skill's code runs no more until a person allows it again.
    """
    here = Here(roots=roots)
    found = find_folder(skill, here.roots)
    was = trust.forget(found.folder, here.state)
    if as_json:
        output.data({"skill": skill, "folder": found.folder, "allowed": False, "changed": was})
        return
    output.text(f"{skill} may no longer run" if was else f"{skill} was not allowed")
