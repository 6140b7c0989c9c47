"""Commands that create, install, remove and approve skills."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import click

from flowrail.cli import options
from flowrail.cli.options import Call
from flowrail.errors import UsageError
from flowrail.hosts import locations
from flowrail.skills import install
from flowrail.skills.install import LEFT, NEW, REMOVED, SAME, UPDATED, InstalledSkill
from flowrail.text.phrases import count
from flowrail.text.safe_text import one_line

_WORDS = {NEW: "new", UPDATED: "updated", SAME: "unchanged", REMOVED: "removed"}


@Call.command("install", "flow install planner --dry-run", "flow install --all --to home")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete("skills"))
@click.option("--all", "every", is_flag=True, help="Install every bundled skill.")
@options.where
@options.host
@click.option("--force", is_flag=True, help="Replace files that were changed by hand, too.")
@options.dry_run
@options.as_json
def install_command(
    call: Call, names: tuple[str, ...], every: bool, to: str, host: str, force: bool, dry_run: bool
) -> None:
    """Install bundled skills where agents look for them

    Files that were changed by hand, or were there before, are left as they are. An unchanged copy
    runs like the bundled skill. A changed copy needs `flow trust`.
    """
    root = _location(call, names, every, to, host)
    placed = install.install(install.bundled() if every else names, root, force=force, dry_run=dry_run)
    lines = [line for skill in placed for line in _installed_lines(skill)]
    lines += ["nothing was written"] if dry_run else []
    data = {"installed": [skill.as_data() for skill in placed], "dry_run": dry_run}
    call.answer(data, "\n".join(map(one_line, lines)))


def _location(call: Call, names: Sequence[str], every: bool, to: str, host: str) -> str:
    """Return the folder of skills that *to* and *host* name; refuse both names and `--all`, and neither."""
    if bool(names) == every:
        raise UsageError("either names of skills or --all is needed", hint="give one of them")
    environment = call.environment
    return locations.place(to, host, cwd=environment.cwd, home=environment.home, environ=environment.environ)


def _installed_lines(placed: InstalledSkill) -> Iterator[str]:
    counted = [
        f"{count(len(placed.only(state)), 'file')} {word}"
        for state, word in _WORDS.items()
        if placed.only(state)
    ]
    yield f"{placed.skill} in {placed.folder}: {', '.join(counted) or 'no files'}"
    for path in placed.only(LEFT):
        yield f"not replaced, because it has changed or flow did not write it: {path}"


@Call.command("uninstall", "flow skill uninstall planner")
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete("skills"))
@click.option("--all", "every", is_flag=True, help="Remove every installed skill.")
@options.where
@options.host
@options.dry_run
@options.as_json
def uninstall_command(
    call: Call, names: tuple[str, ...], every: bool, to: str, host: str, dry_run: bool
) -> None:
    """Remove what `flow install` wrote

    Files that were changed since, and files that it did not write, stay.
    """
    root = _location(call, names, every, to, host)
    placed = install.uninstall(install.installed(root) if every else names, root, dry_run=dry_run)
    lines = [line for skill in placed for line in _uninstalled_lines(skill, dry_run=dry_run)]
    lines = lines or [f"no skill was installed in {root}"]
    lines += ["nothing was removed"] if dry_run else []
    data = {"uninstalled": [skill.as_data() for skill in placed], "dry_run": dry_run}
    call.answer(data, "\n".join(map(one_line, lines)))


def _uninstalled_lines(skill: InstalledSkill, *, dry_run: bool) -> Iterator[str]:
    files = count(len(skill.only(REMOVED)), "file")
    yield f"{skill.skill} in {skill.folder}: {files} {'to remove' if dry_run else 'removed'}"
    for path in skill.only(LEFT):
        yield f"not removed, because it has changed: {path}"
    if not (dry_run or skill.only(LEFT)) and os.path.isdir(skill.folder):
        yield "its folder stays: it contains files that were not installed"
