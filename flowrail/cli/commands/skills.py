"""Commands that create, install, remove and approve skills."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

import click

from flowrail import approval
from flowrail.cli import options
from flowrail.cli.options import Call
from flowrail.command import Command, Hint
from flowrail.discovery.locations import find_project_root
from flowrail.errors import UsageError
from flowrail.hosts import locations
from flowrail.operations.skills.trust import describe, find_folder, step_commands, withdraw
from flowrail.skills import install
from flowrail.skills.catalog import Skill, named_root
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
    runs like the bundled skill. A changed copy needs `flow skill trust`.
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


@Call.command("trust", "flow skill trust my-skill", "flow skill trust my-skill --commands")
@options.skill
@click.option("--commands", is_flag=True, help="Approve the commands of its steps for this project.")
@options.digest
@options.as_json
@options.root
def trust_command(call: Call, skill: str, commands: bool, digest: str | None) -> None:
    """Approve a project's skill, so that it may run

    Lists the files, marks what changed since the last approval, and asks at the terminal.
    Exactly this content is approved; any change needs a new approval. In CI, where no person
    can answer, --digest names the content that a person has looked at.

    With --commands, lists the commands that `flow run` may run for any skill, bundled ones
    included. They run the project's code. The approval is for this content, these commands and this
    project.
    """
    environment = call.environment
    installed = find_folder(skill, environment.roots)
    content = approval.snapshot(installed.folder)
    if commands:
        _trust_commands(call, skill, installed, content, digest)
        return
    call.require_approval(
        f"Allow skill {one_line(skill)[:200]} to run its code as you?",
        describe(content, approval.approval_of(installed.folder, environment.state)),
        digest=content.digest,
        expected_digest=digest,
        hint=approval.how_to_approve(skill, named_root(installed)),
    )
    approval.approve(content, environment.state, at=environment.now)
    back = Command("skill untrust", skill, root=named_root(installed) or None)
    call.answer(
        {
            "skill": skill,
            "folder": content.folder,
            "digest": content.digest,
            "files": list(content.files),
            "allowed": True,
        },
        f"{skill} may now run, until its content changes; to withdraw the approval: {back}",
    )


def _trust_commands(
    call: Call, skill: str, installed: Skill, content: approval.FolderContent, expected_digest: str | None
) -> None:
    """Approve the commands of a skill's steps for the project of the current folder."""
    environment, root = call.environment, named_root(installed)
    project = find_project_root(environment.cwd)
    listed = step_commands(installed, call.environment.loader)
    if not listed:
        raise UsageError(f"the steps of skill `{skill}` declare no commands", hint="nothing needs approval")
    commands = list(dict.fromkeys(listed.values()))
    programs = approval.programs((command[0] for command in commands), project, environment.environ)
    digest = approval.commands_digest(content, project, programs)
    lines = [f"skill {content.folder}", f"project {project}", f"digest {digest}"]
    lines += [f"  {name}: {shlex.join(command)}" for name, command in listed.items()]
    lines += [f"  {word} is {program.path or 'not found'}" for word, program in programs.items()]
    call.require_approval(
        f"Allow `flow run` to run {count(len(commands), 'command')} as you in this project?",
        lines,
        digest=digest,
        expected_digest=expected_digest,
        hint=Hint("a person runs: ", Command("skill trust", skill, commands=True, root=root or None)),
    )
    approval.approve_commands(content, project, programs, environment.state, at=environment.now)
    back = Command("skill untrust", skill, root=root or None)
    call.answer(
        {
            "skill": skill,
            "folder": content.folder,
            "project": project,
            "digest": digest,
            "commands": commands,
            "allowed": True,
        },
        f"`flow run` may now run these commands in {project}; to withdraw the approval: {back}",
    )


@Call.command("untrust", "flow skill untrust my-skill")
@options.skill
@options.as_json
@options.root
def untrust_command(call: Call, skill: str) -> None:
    """Withdraw the approval of a skill

    Neither its code nor, in this project, the commands of its steps run until a person approves them again.
    """
    environment = call.environment
    folder, was_allowed = withdraw(
        skill, environment.roots, environment.state, find_project_root(environment.cwd)
    )
    call.answer(
        {"skill": skill, "folder": folder, "allowed": False, "changed": was_allowed},
        one_line(f"{skill} may no longer run" if was_allowed else f"{skill} was not approved"),
    )
