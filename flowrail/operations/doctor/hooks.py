"""The hooks section of `flow doctor`: our hooks in the settings of hosts."""

from __future__ import annotations

from collections.abc import Iterator

from flowrail.command import Command
from flowrail.errors import DocumentError
from flowrail.hosts.settings import InstalledHooks, SettingsFile, inspect, settings_files
from flowrail.operations.doctor.section import Section, SetupFinding, short
from flowrail.operations.environment import Environment
from flowrail.skills.summary import forbidden_tools


def hooks_section(environment: Environment) -> Section:
    """Return which settings contain our hooks, and the findings about them."""
    facts: list[str] = []
    findings: list[SetupFinding] = []
    data: list[dict[str, object]] = []
    installed: dict[str, list[SettingsFile]] = {}
    forbidden = forbidden_tools(environment.loader)
    for file in settings_files(environment.cwd, environment.home, environment.environ):
        try:
            hooks = inspect(file, forbidden)
        except DocumentError as error:
            findings.append(_unreadable(file, error))
            continue
        if hooks is not None:
            findings += _findings(file, hooks)
            if hooks.any:
                installed.setdefault(file.host, []).append(file)
                facts.append(f"{file.host}, {file.to}: {short(file.path, environment)}")
        data.append({**file._asdict(), "events": dict(hooks.events) if hooks else {}})
    findings += [_twice(host, both) for host, both in installed.items() if len(both) > 1]
    none = [f"none; `{Command('hook install')}` adds them to a host's settings"]
    return Section("hooks", facts or none, findings, {"hooks": data})


def _unreadable(file: SettingsFile, error: DocumentError) -> SetupFinding:
    message, place = f"the settings of {file.host} cannot be read: {error.fact}", error.place
    if not place.startswith(file.path):  # the settings are a link
        message, place = f"{message} ({place})", file.path
    return SetupFinding(
        "SETTINGS_UNREADABLE", "warning", message, "fix the file; it must be plain JSON", place
    )


def _findings(file: SettingsFile, hooks: InstalledHooks) -> Iterator[SetupFinding]:
    if hooks.any and hooks.switched_off:
        message = f"the settings of {file.host} switch our hooks off with `disableAllHooks`"
        yield SetupFinding("HOOKS_OFF", "warning", message, "remove `disableAllHooks`", file.path)
    missing = [event for event, state in hooks.events.items() if state is None]
    outdated = [event for event, state in hooks.events.items() if state is False]
    again = str(Command("hook install", host=file.host, to=file.to))
    if hooks.any and missing:
        message = f"our hooks for {', '.join(missing)} are missing in the settings of {file.host}"
        yield SetupFinding("HOOKS_MISSING", "warning", message, again, file.path)
    if outdated:
        message = (
            f"our hooks for {', '.join(outdated)} in the settings of {file.host} are from a different version"
        )
        yield SetupFinding("HOOKS_OUTDATED", "warning", message, again, file.path)


def _twice(host: str, both: list[SettingsFile]) -> SetupFinding:
    message = f"our hooks are in two settings files of {host}, so an agent may be held twice for one stop"
    return SetupFinding(
        "HOOKS_TWICE",
        "warning",
        message,
        str(Command("hook uninstall", host=host, to="project")),
        both[0].path,
    )
