"""`flow skill untrust`."""

from __future__ import annotations

import click

from flowrail.cli import options, output
from flowrail.operations.environment import Environment
from flowrail.operations.skills.trust import withdraw
from flowrail.text.safe_text import one_line


@click.command("untrust", epilog=options.examples("flow skill untrust my-skill"))
@options.skill
@options.as_json
@options.root
def command(skill: str, as_json: bool, roots: tuple[str, ...]) -> None:
    """Withdraw the approval of a skill

    The skill's code does not run until a person approves it again.
    """
    here = Environment(roots=roots)
    folder, was = withdraw(skill, here.roots, here.state)
    if as_json:
        output.data({"skill": skill, "folder": folder, "allowed": False, "changed": was})
        return
    output.text(one_line(f"{skill} may no longer run" if was else f"{skill} was not allowed"))
