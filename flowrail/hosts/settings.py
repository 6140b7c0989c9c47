"""flowrail's hooks in the settings of a host: add them, remove them, inspect them.

Settings are plain JSON. Other entries stay as they are, in their order. A file that is not plain JSON, for example
because it has comments, is refused with the lines to add by hand.
"""

from __future__ import annotations

import copy
import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from flowrail.discovery.locations import config_folder, find_project_root
from flowrail.errors import ConflictError, DocumentError
from flowrail.hosts.protocol import EVENTS, POST_TOOL_USE, POST_TOOL_USE_FAILURE, PRE_TOOL_USE, SESSION_START
from flowrail.rules.tools import SHELLS, matcher
from flowrail.storage import files
from flowrail.text import json as strict_json
from flowrail.text import limits
from flowrail.text.safe_text import decode

HOSTS = ("claude-code", "codex")
#: Any host that calls no hooks of this form.
OTHER = "other"
#: After this many seconds a host continues without an answer.
TIMEOUT = 10

_COMMAND, _GUARD, _FALLBACK = "flow hook ", "command -v flow >/dev/null && ", " 2>/dev/null || echo '{}'"
_MISSING = json.dumps(
    {
        "systemMessage": "The command flow is not on the PATH, so its hooks do nothing. "
        "Install flowrail, or remove its hooks from the settings."
    }
)
#: The commands that an agent runs while it follows a workflow, and those that only read.
VERBS = (
    "start", "step", "run", "resume", "status", "ask", "answer", "finding", "handoff",
    "sessions", "history", "list", "show", "check", "skill preview", "discover",
)  # fmt: skip
PERMISSIONS = tuple(f"Bash(flow {verb} *)" for verb in VERBS)

Settings = dict[str, Any]


class LinkedSettingsError(ConflictError):
    """The project's settings are a link out of the project, so they are not changed."""

    code = "SETTINGS_LINKED"


class UnusableSettingsError(DocumentError):
    """The host's settings are not plain JSON, or have a different value where hooks belong."""

    code = "SETTINGS_UNUSABLE"


class SettingsFile(NamedTuple):
    """Where a host keeps its settings; ``to`` is `project` or `home`."""

    host: str
    to: str
    path: str


class SettingsChange(NamedTuple):
    """The text of a host's settings before and after; `None` if there is no file."""

    file: SettingsFile
    before: str | None
    after: str | None

    @property
    def changed(self) -> bool:
        """Whether the text differs."""
        return self.before != self.after


class InstalledHooks(NamedTuple):
    """What a host's settings say about our hooks.

    ``events`` has for each event whether its hook is there as this version writes it, or `None` without one.
    ``switched_off`` is `disableAllHooks`.
    """

    events: Mapping[str, bool | None]
    switched_off: bool

    @property
    def any(self) -> bool:
        """Whether a hook of ours is there, of this or a different version."""
        return any(state is not None for state in self.events.values())


def settings_file(host: str, to: str, *, cwd: str, home: str, environ: Mapping[str, str]) -> SettingsFile:
    """Return where *host* keeps the settings of the project around *cwd*, or the user's own."""
    if to == "home":
        codex = environ.get("CODEX_HOME") or os.path.join(home, ".codex")
        folder = config_folder(home, environ) if host == "claude-code" else codex
    else:
        folder = os.path.join(find_project_root(cwd), ".claude" if host == "claude-code" else ".codex")
    name = "settings.json" if host == "claude-code" else "hooks.json"
    return SettingsFile(host, to, os.path.join(folder, name))


def settings_files(cwd: str, home: str, environ: Mapping[str, str]) -> list[SettingsFile]:
    """Return every file that may hold our hooks."""
    files = [
        settings_file(host, to, cwd=cwd, home=home, environ=environ)
        for host in HOSTS
        for to in ("project", "home")
    ]
    return list({os.path.realpath(file.path): file for file in files}.values())


def hooks() -> dict[str, list[Settings]]:
    """Return all our hooks as a host's settings hold them, for a project whose workflows forbid no tools."""
    return {name: [_entry(event, ())] for event, name in EVENTS.items()}


def hook_command(event: str) -> str:
    """Return the command that a host runs at *event*.

    It answers even if `flow` is not found. The user reads about that once, when a conversation starts.
    """
    if event != SESSION_START:
        return f"{_GUARD}{_COMMAND}{event}{_FALLBACK}"
    return f"{_GUARD}{_COMMAND}{event} 2>/dev/null || echo '{_MISSING}'"


def add_hooks(
    file: SettingsFile, *, permissions: bool, dry_run: bool, forbidden: Iterable[str] = ()
) -> SettingsChange:
    """Add our hooks to a host's settings, and with *permissions* the rules for `flow` commands.

    *forbidden* are the rules of workflows about tools: the hook before a tool is called for those tools only.
    """
    return _change(file, partial(with_hooks, permissions=permissions, forbidden=forbidden), dry_run=dry_run)


def remove_hooks(file: SettingsFile, *, dry_run: bool) -> SettingsChange:
    """Remove our hooks and permissions from a host's settings. A file that contains nothing else is deleted."""
    return _change(file, without_hooks, dry_run=dry_run)


def _change(file: SettingsFile, change: Callable[[Settings], Settings], *, dry_run: bool) -> SettingsChange:
    path = _writable_path(file)
    before = _read(path)
    settings = _parse(before, path)
    changed = change(settings)
    if changed == settings:
        return SettingsChange(file, before, before)
    after = _format(changed, before) if changed else None
    if after is not None and not dry_run:
        files.make_dir(os.path.dirname(path))
        files.write_atomic(path, after.encode(), mode=_mode(path))
    elif not dry_run:
        files.remove(path)
        with suppress(OSError):  # the folder holds other files
            os.rmdir(os.path.dirname(path))
    return SettingsChange(file, before, after)


def inspect(file: SettingsFile, forbidden: Iterable[str] = ()) -> InstalledHooks | None:
    """Return what a host's settings say about our hooks, or `None` without a file."""
    text = _read(os.path.realpath(file.path))
    if text is None:
        return None
    settings = _parse(text, file.path)
    return InstalledHooks(_states(settings, forbidden), settings.get("disableAllHooks") is True)


def with_hooks(settings: Settings, *, permissions: bool, forbidden: Iterable[str] = ()) -> Settings:
    """Return *settings* with our hooks; those of a different version are replaced."""
    rules = tuple(forbidden)
    result = copy.deepcopy(settings)
    for event, state in _states(settings, rules).items():
        if state:
            continue
        events = result.setdefault("hooks", {})
        events[EVENTS[event]] = [*_without_ours(events.get(EVENTS[event], [])), _entry(event, rules)]
    if permissions:
        allowed = result.setdefault("permissions", {}).setdefault("allow", [])
        allowed += [rule for rule in PERMISSIONS if rule not in allowed]
    return result


def without_hooks(settings: Settings) -> Settings:
    """Return *settings* without our hooks and permissions, and without what is empty because of that."""
    result = copy.deepcopy(settings)
    for name, groups in settings.get("hooks", {}).items():
        left = _without_ours(groups)
        if left != groups:
            _put(result, "hooks", name, left)
    allowed = settings.get("permissions", {}).get("allow", [])
    left = [rule for rule in allowed if rule not in PERMISSIONS]
    if left != allowed:
        _put(result, "permissions", "allow", left)
    return result


def _put(settings: Settings, part: str, key: str, values: list[Any]) -> None:
    """Put *values* into a part of *settings*, or remove what would be empty."""
    settings[part][key] = values
    if not values:
        del settings[part][key]
    if not settings[part]:
        del settings[part]


def _entry(event: str, forbidden: Iterable[str]) -> Settings:
    command = {"hooks": [{"type": "command", "command": hook_command(event), "timeout": TIMEOUT}]}
    if event == PRE_TOOL_USE:
        return {"matcher": matcher(forbidden), **command}
    if event in {POST_TOOL_USE, POST_TOOL_USE_FAILURE}:
        return {"matcher": "|".join(sorted(SHELLS)), **command}
    return command


def _states(settings: Settings, forbidden: Iterable[str]) -> dict[str, bool | None]:
    """Return for each event whether its hook is as this version writes it, or `None` without one."""
    rules = tuple(forbidden)
    states: dict[str, bool | None] = {}
    for event, name in EVENTS.items():
        groups = settings.get("hooks", {}).get(name, [])
        ours = [group for group in groups if any(map(_is_ours, _commands(group)))]
        entry = _entry(event, rules)
        states[event] = any(_has(group, entry) for group in ours) if ours else None
    return states


def _has(group: Settings, entry: Settings) -> bool:
    """Return whether a group has the command of *entry* and is called for at least its tools."""
    if not set(_commands(entry)) <= set(_commands(group)):
        return False
    needed, matcher = str(entry.get("matcher", "")).split("|"), str(group.get("matcher", ""))
    return matcher in {"", "*"} or set(needed) <= set(matcher.split("|"))


def _commands(group: Settings) -> list[str]:
    return [str(hook.get("command", "")) for hook in group.get("hooks", [])]


def _without_ours(groups: list[Settings]) -> list[Settings]:
    result: list[Settings] = []
    for group in groups:
        hooks_of_group = group.get("hooks", [])
        left = [hook for hook in hooks_of_group if not _is_ours(str(hook.get("command", "")))]
        if left == hooks_of_group:
            result.append(group)
        elif left:
            result.append({**group, "hooks": left})
    return result


def _is_ours(command: str) -> bool:
    return command.removeprefix(_GUARD).startswith(_COMMAND)


def _check_shape(settings: Settings, source: str) -> None:
    """Refuse settings whose hooks or permissions do not have the form that hosts read."""
    events, rules = settings.get("hooks", {}), settings.get("permissions", {})
    has_hooks = isinstance(events, dict) and all(
        isinstance(groups, list)
        and all(isinstance(group, dict) and _are_objects(group.get("hooks", [])) for group in groups)
        for groups in events.values()
    )
    if not has_hooks:
        raise UnusableSettingsError("`hooks` has a form that hosts do not read", hint="fix it", place=source)
    if not isinstance(rules, dict) or not isinstance(rules.get("allow", []), list):
        raise UnusableSettingsError("`permissions.allow` is not a list", hint="fix it", place=source)


def _are_objects(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, dict) for value in values)


def _writable_path(file: SettingsFile) -> str:
    """Return the real file. The user's own may be a link, for example to a folder of dotfiles; a project's may not."""
    real = os.path.realpath(file.path)
    if file.to != "home" and any(os.path.islink(path) for path in (file.path, os.path.dirname(file.path))):
        raise LinkedSettingsError(
            f"{file.path} is behind a link", hint=f"change {real} by hand, or use --to home", place=file.path
        )
    return real


def _read(path: str) -> str | None:
    try:
        data = files.read_bounded(path, limit=limits.JSON_BYTES, what="the host's settings")
    except files.MissingFileError:
        return None
    return decode(data, source=path)


def _parse(text: str | None, source: str) -> Settings:
    if text is None or not text.strip():
        return {}
    lines = json.dumps({"hooks": hooks()}, indent=2)
    hint = f"settings must be plain JSON without comments; fix the file, or add these lines by hand:\n{lines}"
    try:
        settings = strict_json.load(text, source=source)
    except DocumentError as error:
        raise UnusableSettingsError(error.fact, hint=hint, place=error.place) from None
    if not isinstance(settings, dict):
        raise UnusableSettingsError("the file is not a JSON object", hint=hint, place=source)
    _check_shape(settings, source)
    return settings


def _format(settings: Settings, before: str | None) -> str:
    """Return *settings* as text, indented as *before* is."""
    indent = re.search(r"\n([ \t]+)\"", before or "")
    return json.dumps(settings, indent=indent[1] if indent else 2, ensure_ascii=False) + "\n"


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o644
