"""flowrail's hooks and permissions in the settings of a host: add them, remove them, compare them.

Settings are plain JSON. Other entries stay as they are, in their order. A file that is not plain JSON, for example
because it has comments, is refused with the lines to add by hand.
"""

from __future__ import annotations

import copy
import json
import os
import re
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from flowrail.command_table import AGENTS_COMMANDS
from flowrail.errors import ConflictError, DocumentError
from flowrail.hosts.host import SESSION_START, Host
from flowrail.storage import files
from flowrail.text import json as strict_json
from flowrail.text import size_limits
from flowrail.text.safe_text import decode

TIMEOUT = 10
"""After this many seconds a host continues without an answer."""
PERMISSIONS = tuple(f"Bash(flow {words} *)" for words in AGENTS_COMMANDS)
_COMMAND, _GUARD = "flow hook ", "command -v flow >/dev/null && "
_MISSING = json.dumps(
    {
        "systemMessage": "The command flow is not on the PATH, so its hooks do nothing. "
        "Install flowrail, or remove its hooks from the settings."
    }
)
Settings = dict[str, Any]


@dataclass(frozen=True)
class SettingsFile:
    """A file with settings of a host, and its content."""

    host: Host
    path: str
    text: str | None
    """Its content; `None` if it does not exist."""
    settings: Settings

    @property
    def has_hooks(self) -> bool:
        """Whether it contains hooks of ours, of this or a different version."""
        return self.settings != without_ours(self.settings)

    @property
    def missing(self) -> list[str]:
        """The events whose hooks are missing or not as this version writes them."""
        return [name for name, entry in hooks(self.host).items() if not _has(self.settings, name, entry)]

    @property
    def is_switched_off(self) -> bool:
        """Whether the settings switch all hooks off."""
        return self.settings.get("disableAllHooks") is True

    def write(self, settings: Settings) -> None:
        """Replace the content. A file without any entry is deleted."""
        if settings:
            files.make_dir(os.path.dirname(self.path))
            indent = re.search(r"\n([ \t]+)\"", self.text or "")
            text = json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"
            mode = 0o644 if self.text is None else stat.S_IMODE(os.stat(self.path).st_mode)
            files.write_atomic(self.path, text.encode(), mode=mode)
        elif self.text is not None:
            files.remove(self.path)
            with suppress(OSError):  # the folder holds other files
                os.rmdir(os.path.dirname(self.path))


def read_settings(host: Host, path: str) -> SettingsFile:
    """Read a settings file. The file behind a link is the one that is written."""
    real = os.path.realpath(path)
    try:
        data = files.read_bounded(real, limit=size_limits.JSON_BYTES, what=f"the settings of {host.title}")
    except files.MissingFileError:
        return SettingsFile(host, real, None, {})
    text = decode(data, source=real)
    return SettingsFile(host, real, text, _parse(text, real, host))


def inside_project(path: str, project: str, home: str, *, instead: str) -> str:
    """Return *path*, which is in the project; refuse a link out of it, because the project may come from others.

    In the user's own home a link is fine, for example to dotfiles. *instead* says what to do about it.
    """
    real = os.path.realpath(path)
    if project != os.path.realpath(home) and os.path.commonpath([project, real]) != project:
        raise ConflictError(
            f"{path} leads out of the project, to {real}, so nothing was written",
            code="PLACE_ELSEWHERE",
            hint=f"remove the link, or {instead}",
            path=path,
            real=real,
        )
    return path


def hooks(host: Host) -> dict[str, Settings]:
    """Return our entry for each event at which *host* calls hooks, by its own name of the event."""
    entries: dict[str, Settings] = {}
    for event, name in host.events.items():
        command = {"type": "command", "command": hook_command(event), "timeout": TIMEOUT}
        entries[name] = {"hooks": [command]}
        if tools := host.tools.of_event(event):
            entries[name] = {"matcher": "|".join(sorted(tools)), **entries[name]}
    return entries


def hook_command(event: str) -> str:
    """Return the command that a host runs at *event*.

    It answers even if `flow` is not found. The user reads about that once, when a conversation starts.
    """
    fallback = _MISSING if event == SESSION_START else "{}"
    return f"{_GUARD}{_COMMAND}{event} 2>/dev/null || echo '{fallback}'"


def with_ours(settings: Settings, host: Host) -> Settings:
    """Return *settings* with our hooks and permissions; hooks of a different version are replaced."""
    result = copy.deepcopy(settings)
    entries = hooks(host)
    if not all(_has(settings, name, entry) for name, entry in entries.items()):
        result = without_ours(settings)
        for name, entry in entries.items():
            result.setdefault("hooks", {}).setdefault(name, []).append(entry)
    if host.takes_permissions:
        allowed = result.setdefault("permissions", {}).setdefault("allow", [])
        allowed += [rule for rule in PERMISSIONS if rule not in allowed]
    return result


def without_ours(settings: Settings) -> Settings:
    """Return *settings* without our hooks and permissions, and without what is empty because of that."""
    result = copy.deepcopy(settings)
    for name, groups in settings.get("hooks", {}).items():
        left = [kept for group in groups if (kept := _without_our_commands(group)) is not None]
        if left != groups:
            _put(result, "hooks", name, left)
    allowed = settings.get("permissions", {}).get("allow", [])
    others = [rule for rule in allowed if rule not in PERMISSIONS]
    if others != allowed:
        _put(result, "permissions", "allow", others)
    return result


def _put(settings: Settings, part: str, key: str, values: list[Any]) -> None:
    """Put *values* into a part of *settings*, or remove what would be empty."""
    settings[part][key] = values
    if not values:
        del settings[part][key]
    if not settings[part]:
        del settings[part]


def _has(settings: Settings, name: str, entry: Settings) -> bool:
    """Return whether *entry* is the only one of ours for an event."""
    groups = settings.get("hooks", {}).get(name, [])
    return [group for group in groups if _without_our_commands(group) != group] == [entry]


def _without_our_commands(group: Settings) -> Settings | None:
    """Return an entry of an event without our commands; `None` if it has no others."""
    commands = group.get("hooks", [])
    left = [hook for hook in commands if not _is_ours(hook)]
    return group if left == commands else {**group, "hooks": left} if left else None


def _is_ours(hook: Mapping[str, object]) -> bool:
    return str(hook.get("command", "")).removeprefix(_GUARD).startswith(_COMMAND)


def _parse(text: str, source: str, host: Host) -> Settings:
    lines = json.dumps({"hooks": {name: [entry] for name, entry in hooks(host).items()}}, indent=2)
    hint = f"settings must be plain JSON without comments; fix the file, or add these lines by hand:\n{lines}"
    try:
        settings: Any = strict_json.load(text, source=source) if text.strip() else {}
    except DocumentError as error:
        raise DocumentError(error.fact, code="SETTINGS_UNUSABLE", hint=hint, place=error.place) from None
    try:
        with_ours(settings, host)
        without_ours(settings)
    except (AttributeError, KeyError, TypeError, ValueError):
        fact = "its hooks or permissions have a form that hosts do not read"
        raise DocumentError(fact, code="SETTINGS_UNUSABLE", hint=hint, place=source) from None
    checked: Settings = settings
    return checked
