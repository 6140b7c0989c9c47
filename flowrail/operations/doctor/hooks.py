"""The hooks section of `flow doctor`: our hooks in the settings of hosts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from flowrail.command import Command
from flowrail.errors import DocumentError
from flowrail.hosts.host import HOSTS, Host
from flowrail.hosts.settings import SettingsFile, read_settings
from flowrail.operations.doctor.section import Section, SetupFinding, short
from flowrail.operations.environment import Environment


def hooks_section(environment: Environment) -> Section:
    """Return which settings contain our hooks, and the findings about them."""
    facts: list[str] = []
    findings: list[SetupFinding] = []
    for host in HOSTS:
        files: dict[str, Command] = {}
        for options, path in _paths(host, environment):
            try:
                file = read_settings(host, path)
            except DocumentError as error:
                message = f"the settings of {host.title} cannot be read: {error.fact}"
                remedy = "fix the file; it must be plain JSON"
                findings.append(SetupFinding("SETTINGS_UNREADABLE", "warning", message, remedy, path))
                continue
            if file.has_hooks and file.path not in files:
                files[file.path] = Command("setup", host=host.name, **options)
                facts.append(f"{host.title}: {short(path, environment)}")
                findings += _problems(file, files[file.path])
        if len(files) > 1:
            first, again = next(iter(files.items()))
            message = f"our hooks are in {len(files)} settings files of {host.title}, so they run twice"
            remedy = str(again.with_options(remove=True))
            findings.append(SetupFinding("HOOKS_TWICE", "warning", message, remedy, first))
    none = [f"none; `{Command('setup')}` adds them to a host's settings"]
    return Section("hooks", facts or none, findings, {})


def _paths(host: Host, environment: Environment) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the settings files of a host, each with the options of `flow setup` for it."""
    if host.local_settings:
        yield {"local": True}, os.path.join(environment.project, host.local_settings)
    if host.settings:
        yield {}, os.path.join(environment.project, host.settings)
        yield {"home": True}, host.in_home(host.settings, environment.home, environment.environ)


def _problems(file: SettingsFile, again: Command) -> Iterator[SetupFinding]:
    if file.is_switched_off:
        message = f"the settings of {file.host.title} switch our hooks off with `disableAllHooks`"
        yield SetupFinding("HOOKS_OFF", "warning", message, "remove `disableAllHooks`", file.path)
    if file.missing:
        message = f"our hooks for {', '.join(file.missing)} are missing or from a different version"
        yield SetupFinding("HOOKS_OUTDATED", "warning", message, str(again), file.path)
