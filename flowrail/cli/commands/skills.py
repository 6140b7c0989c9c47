"""Commands that create, install, remove and approve skills."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Iterator

import click

from flowrail import approval
from flowrail.cli import options, output
from flowrail.command import Hint
from flowrail.discovery.locations import named as place_named
from flowrail.errors import TrustError, UsageError
from flowrail.hosts import locations
from flowrail.operations.environment import Environment
from flowrail.operations.skills.trust import describe, find_folder, withdraw
from flowrail.skills import install, scaffold
from flowrail.skills.catalog import named_root
from flowrail.skills.install import LEFT, NEW, REMOVED, SAME, UPDATED, InstalledSkill
from flowrail.text.safe_text import one_line


@click.command("new", epilog=options.examples("flow new release-check", "flow new release-check --python"))
@click.argument("name")
@click.option("--python", is_flag=True, help="Write the workflow in Python instead of YAML.")
@click.option("--dir", "folder", metavar="DIR", help="The folder that holds skills (default: the project's).")
@options.as_json
def new_command(name: str, python: bool, folder: str | None, as_json: bool) -> None:
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
    named = made.skill + _root_option(made, here)
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


def _root_option(made: scaffold.NewSkill, here: Environment) -> str:
    """Return what has to be said of the place of a skill that nobody finds without being told it."""
    root = os.path.dirname(made.folder)
    if any(os.path.realpath(each.path) == os.path.realpath(root) for each in here.roots):
        return ""
    return f" --root {shlex.quote(os.path.relpath(root, here.cwd))}"


_WORDS = {NEW: "new", UPDATED: "brought up to date", SAME: "as they were", REMOVED: "taken away"}


@click.command(
    "install", epilog=options.examples("flow install planner --dry-run", "flow install --all --to home")
)
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete("skills"))
@click.option("--all", "every", is_flag=True, help="Install every bundled skill.")
@options.where
@options.host
@click.option("--card", is_flag=True, help="Install only SKILL.md; the steps stay in the package.")
@click.option("--force", is_flag=True, help="Replace files that were changed by hand, too.")
@options.dry_run
@options.as_json
def install_command(
    names: tuple[str, ...],
    every: bool,
    to: str,
    host: str,
    card: bool,
    force: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Install bundled skills where agents look for them

    Files that were changed by hand, or were there before, are left as they are. An unchanged copy
    runs like the bundled skill. A changed copy needs `flow skill trust`.
    """
    if bool(names) == every:
        raise UsageError("either names of skills or --all is needed", hint="give one of them")
    here = Environment()
    root = locations.place(to, host, cwd=here.cwd, home=here.home, environ=here.environ)
    wanted = install.bundled() if every else names
    placed = install.install(wanted, root, card=card, force=force, dry_run=dry_run)
    if as_json:
        output.data({"installed": [each.as_data() for each in placed], "dry_run": dry_run})
        return
    for each in placed:
        output.text("\n".join(one_line(line) for line in _installed_lines(each)))
    if dry_run:
        output.text("nothing was written")


def _installed_lines(placed: InstalledSkill) -> Iterator[str]:
    counted = [f"{len(placed.only(state))} {words}" for state, words in _WORDS.items() if placed.only(state)]
    yield f"{placed.skill} in {placed.folder}: files {', '.join(counted) or 'none'}"
    for path in placed.only(LEFT):
        yield f"not replaced, since flow did not write it or it was changed: {path}"


@click.command("uninstall", epilog=options.examples("flow skill uninstall planner"))
@click.argument("names", nargs=-1, metavar="[NAME]...", shell_complete=options.complete("skills"))
@click.option("--all", "every", is_flag=True, help="Remove every installed skill.")
@options.where
@options.host
@options.dry_run
@options.as_json
def uninstall_command(
    names: tuple[str, ...], every: bool, to: str, host: str, dry_run: bool, as_json: bool
) -> None:
    """Remove what `flow install` wrote

    Files that were changed since, and files that it did not write, stay.
    """
    if bool(names) == every:
        raise UsageError("either names of skills or --all is needed", hint="give one of them")
    here = Environment()
    root = locations.place(to, host, cwd=here.cwd, home=here.home, environ=here.environ)
    wanted = install.installed(root) if every else names
    placed = install.uninstall(wanted, root, dry_run=dry_run)
    if as_json:
        output.data({"uninstalled": [each.as_data() for each in placed], "dry_run": dry_run})
        return
    done = "to be taken away" if dry_run else "taken away"
    for each in placed:
        output.text(one_line(f"{each.skill} in {each.folder}: files {len(each.only(REMOVED))} {done}"))
        for path in each.only(LEFT):
            output.text(one_line(f"left, since it was changed: {path}"))
        if not (dry_run or each.only(LEFT)) and os.path.isdir(each.folder):
            output.text("its folder stays: it contains files that were not installed")
    if not placed:
        output.text(one_line(f"no skill was installed in {root}"))
    if dry_run:
        output.text("nothing was taken away")


@click.command("trust", epilog=options.examples("flow skill trust my-skill"))
@options.skill
@click.option("--digest", metavar="HEX", help="Approve without asking if the folder has this digest.")
@options.as_json
@options.root
def trust_command(skill: str, digest: str | None, as_json: bool, roots: tuple[str, ...]) -> None:
    """Approve a project's skill, so that it may run

    Lists the files, marks what changed since the last approval, and asks at the terminal.
    Exactly this content is approved; any change needs a new approval. In CI, where nobody
    can answer, --digest names the content that a person has looked at.
    """
    here = Environment(roots=roots)
    found = find_folder(skill, here.roots)
    now = approval.snapshot(found.folder)
    lines = describe(now, approval.approval_of(found.folder, here.state))
    shown = "\n".join(f"{'  ' * line.startswith(' ')}{one_line(line)}" for line in lines)
    if not as_json:
        output.text(shown)
    if digest is None:
        seen = not as_json and _is_shown_to_whom_we_ask()
        _ask(skill, "" if seen else shown, now.digest, approval.how_to_approve(skill, named_root(found)))
    elif digest != now.digest:
        raise TrustError(
            f"the folder's digest is {now.digest}, not {digest[:80]}",
            hint="read what changed before you approve it",
            digest=now.digest,
        )
    approval.approve(now, here.state, at=here.now)
    if as_json:
        about_it = {"skill": skill, "folder": now.folder, "digest": now.digest, "files": list(now.files)}
        output.data({**about_it, "allowed": True})
        return
    back = approval.typed("skill untrust", skill, named_root(found))
    output.text(f"{skill} may run as it is now; `{back}` takes that back")


def _is_shown_to_whom_we_ask() -> bool:
    """Return whether standard output is the very terminal that is asked at: another one may be anybody's."""
    try:
        return sys.stdout.isatty() and os.tcgetpgrp(sys.stdout.fileno()) == os.getpgrp()
    except OSError:
        return False


def _ask(skill: str, shown: str, digest: str, hint: str | Hint) -> None:
    """Ask on the terminal itself, so that nothing piped in can answer; *hint* says how a person comes here.

    Where the answer goes elsewhere the person is *shown* what it is about on the terminal too.
    """
    try:
        with open("/dev/tty", "r+b", buffering=0) as terminal:
            terminal.write(f"{shown}\n".encode() if shown else b"")
            terminal.write(f"Allow skill {one_line(skill)[:200]} to run its code as you? Type yes: ".encode())
            answer = terminal.readline(64).strip().lower()
    except OSError:
        raise TrustError(
            "a person must approve this, and there is no terminal to ask on",
            hint=hint,
            digest=digest,
        ) from None
    if answer != b"yes":
        raise TrustError("it was not allowed", hint=hint, digest=digest)


@click.command("untrust", epilog=options.examples("flow skill untrust my-skill"))
@options.skill
@options.as_json
@options.root
def untrust_command(skill: str, as_json: bool, roots: tuple[str, ...]) -> None:
    """Withdraw the approval of a skill

    The skill's code does not run until a person approves it again.
    """
    here = Environment(roots=roots)
    folder, was = withdraw(skill, here.roots, here.state)
    if as_json:
        output.data({"skill": skill, "folder": folder, "allowed": False, "changed": was})
        return
    output.text(one_line(f"{skill} may no longer run" if was else f"{skill} was not allowed"))
