"""`flow new`."""

from __future__ import annotations

import os
import shlex
import shutil
import sys

import click

from flowrail.cli import options, output
from flowrail.discovery.locations import named as place_named
from flowrail.hosts import locations
from flowrail.operations.environment import Environment
from flowrail.skills import scaffold
from flowrail.text.safe_text import one_line


@click.command("new", epilog=options.examples("flow new release-check", "flow new release-check --python"))
@click.argument("name")
@click.option("--python", is_flag=True, help="Write the workflow in Python instead of YAML.")
@click.option("--dir", "folder", metavar="DIR", help="The folder that holds skills (default: the project's).")
@options.as_json
def command(name: str, python: bool, folder: str | None, as_json: bool) -> None:
    """Create a skill

    Writes a small workflow that passes `flow check`, and a test that walks through it. Edit the steps,
    then run `flow check NAME` to list all errors.
    """
    here = Environment()
    given = place_named(folder, here.cwd, here.home) if folder else ""
    made = scaffold.make(name, given or locations.in_project(here.cwd, here.home, say="--dir"), python=python)
    if as_json:
        output.data(made._asdict())
        return
    path = os.path.relpath(made.folder, here.cwd)
    named = made.skill + _where(made, here)
    test = next(each for each in made.files if each.startswith("tests/"))
    tried = (_python(), os.path.join(path, test)) if python else ("flow", "test", path)
    lines = [
        f"{made.skill} created in {made.folder}: {', '.join(made.files)}",
        f"check it: {shlex.join(['flow', 'check', path])}",
        f"test it: {shlex.join(tried)}",
        f"run it: flow step {named}",
    ]
    if python:
        lines.append(f"before it runs in a project, a person must run: flow skill trust {named}")
    elif made.hides_bundled:
        lines.append(f"it replaces the bundled {made.skill}: a person must run flow skill trust {made.skill}")
    output.text("\n".join(one_line(line) for line in lines))


def _python() -> str:
    """Return what starts the Python that has flowrail: `python3` only where that is the same one."""
    first = shutil.which("python3") or ""
    return "python3" if os.path.dirname(first) == os.path.dirname(sys.executable) else sys.executable


def _where(made: scaffold.NewSkill, here: Environment) -> str:
    """Return what has to be said of the place of a skill that nobody finds without being told it."""
    root = os.path.dirname(made.folder)
    if any(os.path.realpath(each.path) == os.path.realpath(root) for each in here.roots):
        return ""
    return f" --root {shlex.quote(os.path.relpath(root, here.cwd))}"
