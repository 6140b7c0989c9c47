"""Set up flowrail for a host: hooks, permissions and skills."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import unified_diff
from typing import Annotated, Any

from flowrail.command_table import AGENTS_COMMANDS
from flowrail.errors import UsageError
from flowrail.hosts.host import CLAUDE_CODE, HOSTS, Host
from flowrail.hosts.settings import (
    PERMISSIONS,
    SettingsFile,
    inside_project,
    read_settings,
    with_ours,
    without_ours,
)
from flowrail.operations.environment import Environment
from flowrail.operations.operation import Help, operation
from flowrail.skills import install
from flowrail.skills.install import KEPT, UNCHANGED, InstalledSkill
from flowrail.text.report import Report
from flowrail.text.safe_text import bounded, one_line, visible
from flowrail.text.unknown_names import unknown


@dataclass(frozen=True)
class ChangedSettings:
    """A settings file of a host, and what changes in it."""

    path: str
    """The path of the file."""
    changed: bool
    """Whether anything changes."""
    difference: str
    """The lines that differ."""


@dataclass(frozen=True)
class SetUp:
    """What was set up for a host, removed, or found to differ."""

    host: str
    """The name of the host."""
    settings: Sequence[ChangedSettings]
    """The settings files."""
    skills: Sequence[InstalledSkill]
    """The skills, each with what happens to it."""
    permissions: Sequence[str]
    """The rules for commands that the agent runs without asking."""
    removed: bool
    """Whether hooks, permissions and skills are removed instead of added."""
    only_checked: bool
    """Whether nothing was written."""

    @property
    def changed(self) -> bool:
        """Whether anything differs from what it should be."""
        return any(file.changed for file in self.settings) or any(
            skill.state not in {UNCHANGED, KEPT} for skill in self.skills
        )

    @property
    def exit_status(self) -> int:
        """1 if a check found a difference."""
        return int(self.only_checked and self.changed)

    def report(self) -> Report:
        """Return what a person reads."""
        for file in self.settings:
            done = "removed the hooks of flow from" if self.removed else "added the hooks of flow to"
            if file.changed and self.only_checked:
                yield from visible(bounded(file.difference)).splitlines()
            elif file.changed or not self.removed:
                yield one_line(f"{done if file.changed else 'the hooks of flow are in'} {file.path}")
        for skill in self.skills:
            why = ", because it was changed by hand, or flow did not write it; --force overrides this"
            yield one_line(
                f"{skill.skill} in {skill.folder}: {skill.state}{why if skill.state == KEPT else ''}"
            )
        if self.only_checked or (self.removed and not self.changed):
            yield "nothing was written" if self.changed else "nothing to do"
        elif not self.removed and (not self.settings or any(file.changed for file in self.settings)):
            if self.permissions:
                yield f"The agent runs these commands of flow without asking: {', '.join(AGENTS_COMMANDS)}."
                yield "It asks you before any other, such as flow trust."
            yield from host_named(self.host).after_setup.splitlines()


@operation("setup", "flow setup problem-analysis", "flow setup --check", "flow setup --host codex")
def set_up(
    environment: Environment,
    skills: Annotated[tuple[str, ...], Help("Bundled skills to install.", metavar="SKILL")] = (),
    *,
    host: Annotated[
        str | None,
        Help(
            f"The host: {', '.join(host.name for host in HOSTS)} (default: the one that is found).",
            metavar="NAME",
        ),
    ] = None,
    local: Annotated[
        bool, Help("Write to your personal settings of this project, not to the shared ones.")
    ] = False,
    home: Annotated[bool, Help("Set up your home folder, for all projects.")] = False,
    check: Annotated[bool, Help("Show what differs, and write nothing. Exits 1 if anything does.")] = False,
    remove: Annotated[bool, Help("Remove what this command wrote, or only the named skills.")] = False,
    force: Annotated[bool, Help("Replace or remove skills that were changed by hand, too.")] = False,
) -> SetUp:
    """Set up your agent's host: hooks, permissions, skills

    Writes to the settings of the host that it finds; other entries stay. Permissions allow the commands that an agent
    needs, and none with which a person decides. Run it again after an upgrade: without names, it updates the skills
    that it installed. Skills that were changed by hand are kept as they are.
    """
    if local and home:
        raise UsageError("--local and --home exclude each other", hint="use one of them")
    chosen = host_named(host) if host else find_host(environment)
    if local and not chosen.local_settings:
        raise UsageError(f"{chosen.title} has no personal settings in a project", hint="use --home")

    def location(path: str) -> str:
        if home:
            return chosen.in_home(path, environment.home, environment.environ)
        path = os.path.join(environment.project, path)
        return inside_project(path, environment.project, environment.home, instead="use --home")

    both = (chosen.settings, chosen.local_settings)
    named = both if remove and not (local or home) else both[1:] if local else both[:1]
    files = [read_settings(chosen, location(path)) for path in named if path and not (remove and skills)]
    wanted = [without_ours(file.settings) if remove else with_ours(file.settings, chosen) for file in files]
    root = location(chosen.skills)
    bundled = install.bundled()
    names = dict.fromkeys(skills or (name for name in install.installed(root) if remove or name in bundled))

    def change_skills(*, dry_run: bool) -> list[InstalledSkill]:
        act = install.uninstall if remove else install.install
        return [act(name, root, force=force, dry_run=dry_run) for name in names]

    changed_skills = change_skills(dry_run=True)  # refuses before anything is written
    differences = [_difference(file, settings) for file, settings in zip(files, wanted, strict=True)]
    if not check:
        for file, settings in zip(files, wanted, strict=True):
            if settings != file.settings:
                file.write(settings)
        changed_skills = change_skills(dry_run=False)
    return SetUp(
        chosen.name,
        differences,
        changed_skills,
        PERMISSIONS if chosen.takes_permissions and not remove else (),
        remove,
        check,
    )


def host_named(name: str) -> Host:
    """Return the host of that name; refuse an unknown one."""
    names = [host.name for host in HOSTS]
    if name not in names:
        raise unknown("host", name, names)
    return HOSTS[names.index(name)]


def find_host(environment: Environment) -> Host:
    """Return the host that runs this command, or that the project, the user's home or the machine has, in this order.

    Without any, it is Claude Code.
    """
    environ = environment.environ
    signs: list[Callable[[Host], object]] = [
        lambda host: environ.get(host.conversation),
        lambda host: os.path.isdir(os.path.join(environment.project, host.folder)),
        lambda host: os.path.isdir(host.in_home(host.folder, environment.home, environ)),
        lambda host: shutil.which(host.program, path=environ.get("PATH", os.defpath)),
    ]
    found = (host for is_here in signs for host in HOSTS if host.settings and is_here(host))
    return next(found, CLAUDE_CODE)


def _difference(file: SettingsFile, wanted: Mapping[str, Any]) -> ChangedSettings:
    before, after = (json.dumps(value, indent=2, ensure_ascii=False) for value in (file.settings, wanted))
    lines = unified_diff(before.splitlines(), after.splitlines(), file.path, file.path, lineterm="", n=1)
    return ChangedSettings(file.path, wanted != file.settings, "\n".join(lines))
