"""What stands in a host's settings for our hooks, and how a text becomes one with it, or without.

Pure: a text in, a text out. Hooks of others, comments, the order and every space stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from flowrail.errors import ConflictError
from flowrail.hosts.jsonc import (
    Insertion,
    Node,
    Style,
    added,
    inserted,
    parse,
    style_of,
    taken_out,
    without,
    written,
)
from flowrail.hosts.protocol import EVENTS
from flowrail.text.json import place

TIMEOUT = 10
"""After so many seconds a host goes on without an answer."""
_OURS, _ELSE = "flow hook ", " 2>/dev/null || echo '{}'"
_FORM = re.compile(
    rf"{_OURS}(?:{'|'.join(EVENTS)})(?: --[a-z][a-z0-9-]*(?:=[\w.-]+)?)*(?:{re.escape(_ELSE)})?\Z"
)
VERBS = (
    "step", "start", "status", "sessions", "resume", "history", "abandon", "claim", "finish", "ask", "answer",
    "finding", "handoff", "list", "show", "check", "preview", "discover",
)  # fmt: skip
"""What an agent may run unasked; what a person has to decide, such as `flow trust`, is not among it."""
PERMISSIONS = tuple(f"Bash(flow {verb} *)" for verb in VERBS)


class OddSettingsError(ConflictError):
    """The host's settings have something else where hooks should stand."""

    code = "ODD_SETTINGS"


class Edited(NamedTuple):
    """A text with something put in, and the parts that were: begin and length of each."""

    text: str
    spans: tuple[tuple[int, int], ...]


def command_of(event: str) -> str:
    """Return what a host runs at *event*: an answer even where there is no `flow`."""
    return f"{_OURS}{event}{_ELSE}"


def entry_of(event: str) -> dict[str, Any]:
    """Return what stands in a host's settings for *event*."""
    return {"hooks": [{"type": "command", "command": command_of(event), "timeout": TIMEOUT}]}


def hooks() -> dict[str, list[dict[str, Any]]]:
    """Return all our hooks as a host's settings hold them."""
    return {name: [entry_of(event)] for event, name in EVENTS.items()}


def is_ours(hook: object) -> bool:
    """Return whether one hook of a host's settings is of ours, be it of another version."""
    return _FORM.match(_command(hook)) is not None


def likened(text: str, *, source: str) -> list[str]:
    """Return the commands of hooks that begin like ours and are none of ours."""
    node = parse(text, source=source).member("hooks")
    each = [
        hook
        for groups in (node.inner if node is not None and node.is_object else ())
        for group in groups.inner
        for hook in _hooks_of(group.value)
    ]
    return [
        _command(hook) for hook in each if _command(hook).split()[:2] == _OURS.split() and not is_ours(hook)
    ]


def _command(hook: object) -> str:
    told = hook.get("command") if isinstance(hook, dict) else None
    return told if isinstance(told, str) else ""


def with_hooks(text: str | None, *, permissions: bool, source: str) -> Edited:
    """Return *text* with what is missing of ours; `None` stands for a file that is not there."""
    if text is None or not text.strip("\ufeff \t\r\n"):
        made = written(_whole(permissions=permissions), style_of(""), 0) + "\n"
        return Edited((text or "") + made, ((len(text or ""), len(made)),))
    root = parse(text, source=source)
    _refuse_odd(text, root, source)
    style = style_of(text)
    missing = [*_missing_hooks(text, root, style, source)]
    if permissions:
        missing += _missing_permissions(text, root, style, source)
    insertions: list[Insertion] = []
    for node, level in dict.fromkeys((each.node.start, each.level) for each in missing):
        here = [each for each in missing if each.node.start == node]
        between = f",{style.newline}{style.unit * level}"
        entry = between.join(each.entry for each in here)
        insertions += added(text, here[0].node, entry, style, level)
    after, spans = inserted(text, insertions)
    return Edited(after, tuple(spans))


def without_hooks(text: str, *, source: str) -> str:
    """Return *text* without what is ours, and without what holds nothing then."""
    root = parse(text, source=source)
    hooks, rules = root.member("hooks"), root.member("permissions")
    held: dict[str, list[_Held]] = {}
    if hooks is not None and hooks.is_object:
        held["hooks"] = [*_own_hooks(text, hooks)]
    if rules is not None and rules.is_object and (allow := rules.member("allow")) is not None:
        own = [at for at, each in enumerate(allow.inner) if each.value in PERMISSIONS]
        held["permissions"] = [_Held("allow", allow, own, ())] if own else []
    gone = {name for name, each in held.items() if _holds_nothing(root.member(name), each)}
    parts = taken_out(text, root, [at for at, (name, _) in enumerate(root.names) if name in gone])
    for name in held.keys() - gone:
        inner = root.member(name)
        parts += _within(text, inner, held[name]) if inner is not None else []
    return without(text, parts)


def refuse_odd(text: str, *, source: str) -> None:
    """Refuse settings that have something else where our hooks would stand."""
    _refuse_odd(text, parse(text, source=source), source)


def standing(text: str, *, source: str) -> dict[str, bool | None]:
    """Return for each event whether its hook stands there as it should; `None` where there is none."""
    root = parse(text, source=source)
    node = root.member("hooks")
    found: dict[str, bool | None] = {}
    for event, name in EVENTS.items():
        groups = node.member(name) if node is not None and node.is_object else None
        ours = [
            each
            for group in (groups.inner if groups else ())
            for each in _hooks_of(group.value)
            if is_ours(each)
        ]
        found[event] = None if not ours else any(each.get("command") == command_of(event) for each in ours)
    return found


def _whole(*, permissions: bool) -> dict[str, Any]:
    allow = {"permissions": {"allow": list(PERMISSIONS)}} if permissions else {}
    return {**allow, "hooks": hooks()}


class _Missing(NamedTuple):
    """An element that is to stand in *node*, whose elements stand at that level."""

    node: Node
    level: int
    entry: str


def _missing_hooks(text: str, root: Node, style: Style, source: str) -> Iterator[_Missing]:
    node = root.member("hooks")
    if node is None:
        yield _Missing(root, 1, f'"hooks": {written(hooks(), style, 1)}')
        return
    standing_now = standing(text, source=source)
    for event, name in EVENTS.items():
        groups = node.member(name)
        if standing_now[event]:
            continue
        if groups is None:
            yield _Missing(node, 2, f'"{name}": {written([entry_of(event)], style, 2)}')
        else:
            yield _Missing(groups, 3, written(entry_of(event), style, 3))


def _missing_permissions(text: str, root: Node, style: Style, source: str) -> Iterator[_Missing]:
    node = root.member("permissions")
    if node is None:
        whole = {"allow": list(PERMISSIONS)}
        yield _Missing(root, 1, f'"permissions": {written(whole, style, 1)}')
        return
    if not node.is_object:
        raise _odd("`permissions` is no object", place(text, node.start, source))
    allow = node.member("allow")
    if allow is None:
        yield _Missing(node, 2, f'"allow": {written(list(PERMISSIONS), style, 2)}')
        return
    if not allow.is_list:
        raise _odd("`permissions.allow` is no list", place(text, allow.start, source))
    yield from (_Missing(allow, 3, f'"{rule}"') for rule in PERMISSIONS if rule not in allow.value)


class _Held(NamedTuple):
    """What of a member goes: whole elements by number, and parts within others."""

    name: str
    node: Node
    numbers: list[int]
    parts: tuple[tuple[int, int], ...]


def _own_hooks(text: str, hooks: Node) -> Iterator[_Held]:
    for (name, _), groups in zip(hooks.names, hooks.inner, strict=True):
        whole: list[int] = []
        parts: list[tuple[int, int]] = []
        for at, group in enumerate(groups.inner if groups.is_list else ()):
            inner = group.member("hooks") if group.is_object else None
            own = [number for number, each in enumerate(inner.inner) if is_ours(each.value)] if inner else []
            if own and inner is not None and len(own) == len(inner.inner):
                whole.append(at)
            elif own and inner is not None:
                parts += taken_out(text, inner, own)
        if whole or parts:
            yield _Held(name, groups, whole, tuple(parts))


def _holds_nothing(node: Node | None, held: list[_Held]) -> bool:
    """Return whether nothing is left of a member once what is ours is gone."""
    gone = [each for each in held if len(each.numbers) == len(each.node.inner)]
    return bool(held) and node is not None and len(gone) == len(node.inner)


def _within(text: str, node: Node, held: list[_Held]) -> list[tuple[int, int]]:
    """Return the parts of a member that go; a list that would be empty then goes with its name."""
    names = {each.name for each in held if len(each.numbers) == len(each.node.inner)}
    parts = taken_out(text, node, [at for at, (own, _) in enumerate(node.names) if own in names])
    for each in held:
        if each.name not in names:
            parts += [*taken_out(text, each.node, each.numbers), *each.parts]
    return parts


def _hooks_of(group: object) -> list[Any]:
    inner = group.get("hooks") if isinstance(group, dict) else None
    return inner if isinstance(inner, list) else []


def _refuse_odd(text: str, root: Node, source: str) -> None:
    if not root.is_object:
        raise _odd("the whole is no object", place(text, root.start, source))
    node = root.member("hooks")
    if node is None:
        return
    if not node.is_object:
        raise _odd("`hooks` is no object", place(text, node.start, source))
    for name in EVENTS.values():
        groups = node.member(name)
        if groups is not None and not groups.is_list:
            raise _odd(f"`hooks.{name}` is no list", place(text, groups.start, source))


def _odd(what: str, where: str) -> OddSettingsError:
    return OddSettingsError(f"{where}: {what}", hint="mend it first", place=where)
