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
from flowrail.command import Command, Hint
from flowrail.discovery.locations import find_project_root
from flowrail.discovery.locations import named as place_named
from flowrail.errors import TrustError, UsageError
from flowrail.hosts import locations
from flowrail.operations.environment import Environment
from flowrail.operations.skills.trust import describe, evidence_commands, find_folder, withdraw
from flowrail.skills import install, scaffold
from flowrail.skills.catalog import Skill, named_root
from flowrail.skills.install import LEFT, NEW, REMOVED, SAME, UPDATED, InstalledSkill
from flowrail.text.phrases import count
from flowrail.text.safe_text import one_line


@click.command("new", epilog=options.examples("flow new release-check", "flow new release-check --python"))
@click.argument("name")
@click.option("--python", is_flag=True, help="Write the workflow in Python instead of YAML.")
@click.option(
    "--from",
    "source",
    metavar="FILE",
    help="Draft the workflow from a skill text: one step for each heading.",
)
@click.option("--dir", "folder", metavar="DIR", help="The folder that holds skills (default: the project's).")
@options.as_json
def new_command(name: str, python: bool, source: str | None, folder: str | None, as_json: bool) -> None:
    """Create a skill

    Writes a small workflow that passes `flow check`, and a test that walks through it. Edit the steps,
    then run `flow check NAME` to list all errors.

    With --from, the headings of an existing SKILL.md become the steps, and the text below each heading its
    instructions. The file does not change. Comments in the draft name what the text demands and the draft
    does not enforce.
    """
    if python and source is not None:
        raise UsageError("--from drafts a workflow in YAML", hint="leave out --python, or --from")
    here = Environment()
    given = place_named(folder, here.cwd, here.home) if folder else ""
    text = os.path.join(here.cwd, source) if source is not None else None
    if text is not None and os.path.isdir(text):
        text = os.path.join(text, "SKILL.md")
    made = scaffold.make(
        name, given or locations.in_project(here.cwd, here.home, say="--dir"), python=python, source=text
    )
    if as_json:
        output.data({**made._asdict(), "findings": [finding._asdict() for finding in made.findings]})
        return
    path = os.path.relpath(made.folder, here.cwd)
    root = _named_root(made, here)
    lines = [f"{made.skill} created in {made.folder}: {', '.join(made.files)}"]
    lines += [f"{finding.step or 'SKILL.md'}: {finding.fact}; {finding.hint}" for finding in made.findings]
    if made.findings:
        number = count(len(made.findings), "finding")
        lines.append(f"the draft runs as it is; its comments repeat the {number}")
    lines.append(f"check it: {Command('check', path)}")
    if python:
        test = next(file for file in made.files if file.startswith("tests/"))
        lines.append(f"test it: {shlex.join((_python(), os.path.join(path, test)))}")
    else:
        lines.append(f"test it: {Command('test', path)}")
    lines.append(f"run it: {Command('step', made.skill, root=root)}")
    trust = Command("skill trust", made.skill, root=root)
    if python:
        lines.append(f"before it runs in a project, a person must run: {trust}")
    elif made.hides_bundled:
        lines.append(f"it replaces the bundled {made.skill}: a person must run {trust}")
    output.text("\n".join(one_line(line) for line in lines))


def _python() -> str:
    """Return the command of the Python that has flowrail: `python3` if that is the same one."""
    first = shutil.which("python3") or ""
    return "python3" if os.path.dirname(first) == os.path.dirname(sys.executable) else sys.executable


def _named_root(made: scaffold.NewSkill, here: Environment) -> str | None:
    """Return the folder that `--root` must name, if the new skill is not in a location of skills."""
    folder = os.path.dirname(made.folder)
    if any(os.path.realpath(root.path) == os.path.realpath(folder) for root in here.roots):
        return None
    return os.path.relpath(folder, here.cwd)


_WORDS = {NEW: "new", UPDATED: "updated", SAME: "unchanged", REMOVED: "removed"}


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
    for skill in placed:
        output.text("\n".join(one_line(line) for line in _installed_lines(skill)))
    if dry_run:
        output.text("nothing was written")


def _installed_lines(placed: InstalledSkill) -> Iterator[str]:
    counted = [
        f"{count(len(placed.only(state)), 'file')} {word}"
        for state, word in _WORDS.items()
        if placed.only(state)
    ]
    yield f"{placed.skill} in {placed.folder}: {', '.join(counted) or 'no files'}"
    for path in placed.only(LEFT):
        yield f"not replaced, because it has changed or flow did not write it: {path}"


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
    done = "to remove" if dry_run else "removed"
    for skill in placed:
        output.text(
            one_line(f"{skill.skill} in {skill.folder}: {count(len(skill.only(REMOVED)), 'file')} {done}")
        )
        for path in skill.only(LEFT):
            output.text(one_line(f"not removed, because it has changed: {path}"))
        if not (dry_run or skill.only(LEFT)) and os.path.isdir(skill.folder):
            output.text("its folder stays: it contains files that were not installed")
    if not placed:
        output.text(one_line(f"no skill was installed in {root}"))
    if dry_run:
        output.text("nothing was removed")


@click.command(
    "trust", epilog=options.examples("flow skill trust my-skill", "flow skill trust my-skill --commands")
)
@options.skill
@click.option("--commands", is_flag=True, help="Approve the commands that its evidence runs in this project.")
@click.option("--digest", metavar="HEX", help="Approve without asking if the folder has this digest.")
@options.as_json
@options.root
def trust_command(
    skill: str, commands: bool, digest: str | None, as_json: bool, roots: tuple[str, ...]
) -> None:
    """Approve a project's skill, so that it may run

    Lists the files, marks what changed since the last approval, and asks at the terminal.
    Exactly this content is approved; any change needs a new approval. In CI, where nobody
    can answer, --digest names the content that a person has looked at.

    With --commands, lists the commands that `flow evidence run` may run for any skill, bundled ones
    included. They run the project's code. The approval is for this content, these commands and this
    project.
    """
    here = Environment(roots=roots)
    found = find_folder(skill, here.roots)
    now = approval.snapshot(found.folder)
    if commands:
        _trust_commands(here, skill, found, now, digest, as_json=as_json)
        return
    lines = describe(now, approval.approval_of(found.folder, here.state))
    shown = "\n".join(f"{'  ' * line.startswith(' ')}{one_line(line)}" for line in lines)
    hint = approval.how_to_approve(skill, named_root(found))
    _approved_by_person(
        f"Allow skill {one_line(skill)[:200]} to run its code as you?",
        shown,
        now.digest,
        digest,
        hint,
        as_json,
    )
    approval.approve(now, here.state, at=here.now)
    if as_json:
        about_it = {"skill": skill, "folder": now.folder, "digest": now.digest, "files": list(now.files)}
        output.data({**about_it, "allowed": True})
        return
    back = approval.typed("skill untrust", skill, named_root(found))
    output.text(f"{skill} may now run, until its content changes; to withdraw the approval: {back}")


def _trust_commands(
    here: Environment,
    skill: str,
    found: Skill,
    now: approval.FolderContent,
    digest: str | None,
    *,
    as_json: bool,
) -> None:
    """Approve the commands of a skill's evidence for the project of the current folder."""
    project = find_project_root(here.cwd)
    listed = evidence_commands(found)
    if not listed:
        raise UsageError(f"the evidence of skill `{skill}` runs no commands", hint="nothing needs approval")
    distinct = list(dict.fromkeys(each.command for each in listed))
    digest_now = approval.commands_digest(now, project, distinct)
    lines = [f"skill {now.folder}", f"project {project}", f"digest {digest_now}"]
    lines += [f"  {each.workflow}, step {each.step}, check {each.check}: {each.line}" for each in listed]
    shown = "\n".join(f"{'  ' * line.startswith(' ')}{one_line(line)}" for line in lines)
    hint = Hint(
        "a person runs: ", Command("skill trust", skill, commands=True, root=named_root(found) or None)
    )
    question = f"Allow `flow evidence run` to run {count(len(distinct), 'command')} as you in this project?"
    _approved_by_person(question, shown, digest_now, digest, hint, as_json)
    approval.approve_commands(now, project, distinct, here.state, at=here.now)
    if as_json:
        commands = [list(command) for command in distinct]
        about_it = {"skill": skill, "folder": now.folder, "project": project, "digest": digest_now}
        output.data({**about_it, "commands": commands, "allowed": True})
        return
    back = approval.typed("skill untrust", skill, named_root(found))
    output.text(
        f"`flow evidence run` may now run these commands in {project}; to withdraw the approval: {back}"
    )


def _approved_by_person(
    question: str, shown: str, digest_now: str, digest: str | None, hint: str | Hint, as_json: bool
) -> None:
    """Print what is to be approved, and ask; or compare with the *digest* that a person looked at."""
    if not as_json:
        output.text(shown)
    if digest is None:
        seen = not as_json and output.is_shown_to_person()
        output.ask(question, shown="" if seen else shown, hint=hint, digest=digest_now)
    elif digest != digest_now:
        raise TrustError(
            f"the digest is {digest_now}, not {digest[:80]}",
            hint="read what changed before you approve it",
            digest=digest_now,
        )


@click.command("untrust", epilog=options.examples("flow skill untrust my-skill"))
@options.skill
@options.as_json
@options.root
def untrust_command(skill: str, as_json: bool, roots: tuple[str, ...]) -> None:
    """Withdraw the approval of a skill

    Neither its code nor, in this project, the commands of its evidence run until a person approves them again.
    """
    here = Environment(roots=roots)
    folder, was = withdraw(skill, here.roots, here.state, find_project_root(here.cwd))
    if as_json:
        output.data({"skill": skill, "folder": folder, "allowed": False, "changed": was})
        return
    output.text(one_line(f"{skill} may no longer run" if was else f"{skill} was not allowed"))
