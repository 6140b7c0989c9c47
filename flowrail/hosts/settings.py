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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from flowrail.discovery.locations import config_folder, find_project_root
from flowrail.errors import ConflictError, DocumentError
from flowrail.hosts.protocol import EVENTS, POST_TOOL_USE, POST_TOOL_USE_FAILURE, PRE_TOOL_USE, SESSION_START
from flowrail.machines.definition.tool_rules import SHELLS, matcher
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
_OUR_COMMAND = re.compile(
    rf"(?:{re.escape(_GUARD)})?{_COMMAND}(?:{'|'.join(EVENTS)})(?: --[a-z][a-z0-9-]*(?:=[\w.-]+)?)*"
    r"(?: 2>/dev/null \|\| .+)?\Z"
)
#: The commands that an agent runs while it follows a workflow, and those that only read.
VERBS = (
    "start", "step", "resume", "status", "claim", "finish", "ask", "answer", "finding", "handoff",
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
    ``unknown`` are commands that begin like ours and are not ours. ``switched_off`` is `disableAllHooks`.
    """

    events: Mapping[str, bool | None]
    unknown: tuple[str, ...]
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
    found = [
        settings_file(host, to, cwd=cwd, home=home, environ=environ)
        for host in HOSTS
        for to in ("project", "home")
    ]
    return list({os.path.realpath(file.path): file for file in found}.values())


def hooks(forbidden: Iterable[str] = ()) -> dict[str, list[Settings]]:
    """Return all our hooks as a host's settings hold them. *forbidden* are the rules of workflows about tools."""
    rules = tuple(forbidden)
    return {name: [_entry(event, rules)] for event, name in EVENTS.items()}


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
    path = _writable_path(file)
    before = _read(path)
    settings = _parse(before, path)
    changed = with_hooks(settings, permissions=permissions, source=path, forbidden=forbidden)
    after = before if before is not None and changed == settings else _format(changed, before)
    if not dry_run and after != before:
        files.make_dir(os.path.dirname(path))
        files.write_atomic(path, after.encode(), mode=_mode(path))
    return SettingsChange(file, before, after)


def remove_hooks(file: SettingsFile, *, dry_run: bool) -> SettingsChange:
    """Remove our hooks and permissions from a host's settings. A file that contains nothing else is deleted."""
    path = _writable_path(file)
    before = _read(path)
    if before is None:
        return SettingsChange(file, None, None)
    settings = _parse(before, path)
    changed = without_hooks(settings)
    if changed == settings:
        return SettingsChange(file, before, before)
    after = _format(changed, before) if changed else None
    if not dry_run:
        if after is None:
            files.remove(path)
            with suppress(OSError):  # the folder holds other files
                os.rmdir(os.path.dirname(path))
        else:
            files.write_atomic(path, after.encode(), mode=_mode(path))
    return SettingsChange(file, before, after)


def inspect(file: SettingsFile, forbidden: Iterable[str] = ()) -> InstalledHooks | None:
    """Return what a host's settings say about our hooks, or `None` without a file."""
    text = _read(os.path.realpath(file.path))
    if text is None:
        return None
    settings = _parse(text, file.path)
    _check_shape(settings, file.path)
    commands = [command for groups in _event_groups(settings).values() for command in _commands(groups)]
    unknown = tuple(command for command in commands if _begins_like_ours(command) and not _is_ours(command))
    return InstalledHooks(_states(settings, forbidden), unknown, settings.get("disableAllHooks") is True)


def with_hooks(
    settings: Settings, *, permissions: bool, source: str, forbidden: Iterable[str] = ()
) -> Settings:
    """Return *settings* with our hooks; those of a different version are replaced."""
    _check_shape(settings, source)
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
    events = _event_groups(settings)
    left = {name: _without_ours(groups) for name, groups in events.items()}
    removed = {name for name, groups in events.items() if left[name] != groups}
    if removed:
        result["hooks"] |= left
        for name in removed:
            if not left[name]:
                del result["hooks"][name]
        if not result["hooks"]:
            del result["hooks"]
    rules = settings.get("permissions")
    allowed = rules.get("allow") if isinstance(rules, dict) else None
    if isinstance(allowed, list) and any(rule in PERMISSIONS for rule in allowed):
        result["permissions"]["allow"] = [rule for rule in allowed if rule not in PERMISSIONS]
        if not result["permissions"]["allow"]:
            del result["permissions"]["allow"]
        if not result["permissions"]:
            del result["permissions"]
    return result


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
    events = _event_groups(settings)
    states: dict[str, bool | None] = {}
    for event, name in EVENTS.items():
        ours = [group for group in events.get(name, []) if any(map(_is_ours, _commands([group])))]
        entry = _entry(event, rules)
        states[event] = any(_has(group, entry) for group in ours) if ours else None
    return states


def _has(group: Settings, entry: Settings) -> bool:
    """Return whether a group has the command of *entry* and is called for at least its tools."""
    if not set(_commands([entry])) <= set(_commands([group])):
        return False
    needed, given = str(entry.get("matcher", "")).split("|"), str(group.get("matcher", ""))
    return given in {"", "*"} or set(needed) <= set(given.split("|"))


def _event_groups(settings: Settings) -> dict[str, list[Any]]:
    events = settings.get("hooks")
    if not isinstance(events, dict):
        return {}
    return {name: groups for name, groups in events.items() if isinstance(groups, list)}


def _commands(groups: list[object]) -> Iterator[str]:
    for group in groups:
        for hook in _hooks_of(group):
            yield _command_of(hook)


def _without_ours(groups: list[Any]) -> list[object]:
    result: list[object] = []
    for group in groups:
        own = _hooks_of(group)
        left = [hook for hook in own if not _is_ours(_command_of(hook))]
        if left == own:
            result.append(group)
        elif left:
            result.append({**group, "hooks": left})
    return result


def _hooks_of(group: object) -> list[object]:
    inner = group.get("hooks") if isinstance(group, dict) else None
    return inner if isinstance(inner, list) else []


def _command_of(hook: object) -> str:
    command = hook.get("command") if isinstance(hook, dict) else None
    return command if isinstance(command, str) else ""


def _begins_like_ours(command: str) -> bool:
    return command.removeprefix(_GUARD).split()[:2] == _COMMAND.split()


def _is_ours(command: str) -> bool:
    return _OUR_COMMAND.match(command) is not None


def _check_shape(settings: Settings, source: str) -> None:
    events, rules = settings.get("hooks", {}), settings.get("permissions", {})
    if not isinstance(events, dict):
        raise UnusableSettingsError("`hooks` is not an object", hint="fix it", place=source)
    for name in EVENTS.values():
        if not isinstance(events.get(name, []), list):
            raise UnusableSettingsError(f"`hooks.{name}` is not a list", hint="fix it", place=source)
    if not isinstance(rules, dict) or not isinstance(rules.get("allow", []), list):
        raise UnusableSettingsError("`permissions.allow` is not a list", hint="fix it", place=source)


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
    return settings


def _format(settings: Settings, before: str | None) -> str:
    """Return *settings* as text, indented as *before* is."""
    found = re.search(r"\n([ \t]+)\"", before or "")
    return json.dumps(settings, indent=found[1] if found else 2, ensure_ascii=False) + "\n"


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0o644
