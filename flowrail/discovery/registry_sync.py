"""Update the registry from the skills in home, and keep a person's edits.

The file is edited with ruamel.yaml, not rewritten: comments, order, quotes, remote entries and additional keys stay. For
each field of a skill three values are compared: that of the last sync, that of the registry, and that of the frontmatter.
If the registry has no value, or still that of the last sync, it takes the frontmatter's value. If it has a different one, a
person edited it: the edit is kept and listed. The result is validated before it replaces the file.
"""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from difflib import unified_diff
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.declaration import FoundSkill
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry import (
    SYNCED_FIELDS,
    WRITTEN_FILE,
    Registry,
    RegistryEntry,
    Written,
    parse_registry,
    read_written,
    same_value,
)
from flowrail.discovery.scan import judge
from flowrail.errors import ConflictError, DocumentError
from flowrail.storage import files
from flowrail.text import size_limits
from flowrail.text.safe_text import decode

_MODE = 0o600
_EMPTY = """\
version: "1.0"
updated_at: ""

workflows: []

meta:
  total_workflows: 0
  last_scan: ""
  discovery_mode: "hybrid"
"""
_HEAD = re.compile(r"(?:(?:[ \t]*+(?:#.*+)?\n)*+---[ \t]*+(?:#.*+)?\n)?")
"""The text up to the mark `---`, where ruamel.yaml would drop comments."""


@dataclass(frozen=True)
class FieldChange:
    """A field with the value in the registry, and the value that the skill declares."""

    skill: str
    field: str
    registry: object
    declared: object


@dataclass(frozen=True)
class Sync:
    """The changes of a sync."""

    path: str
    exists: bool
    """Whether there is a registry already."""
    changes: bool = False
    """Whether the registry is not up to date."""
    written: bool = False
    """Whether the changes were written."""
    added: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    replaced: list[FieldChange] = field(default_factory=list)
    """Values that are overwritten."""
    edited: list[FieldChange] = field(default_factory=list)
    """Values that a person edited, and that stay."""
    stale: list[str] = field(default_factory=list)
    """Entries that have no skill any more; they stay."""
    difference: str = ""
    """The changes as a unified diff."""


@dataclass(frozen=True)
class Plan:
    """The changes, and what `apply` writes."""

    sync: Sync
    before: str | None
    """The text of the registry; `None` if it is missing."""
    after: str | None
    values: Written
    """The values with which the next sync compares."""


def plan(discovery: Discovery, *, home: str, now: datetime) -> Plan:
    """Return the plan of a sync of the registry of *discovery*; nothing is written.

    Only skills in home that accept handoffs are used, because a project's skills are not available elsewhere. A registry
    that cannot be read or has errors is refused.
    """
    path = discovery.registry.path
    before = _read(path)
    text = _EMPTY if before is None else before
    known = _checked(path, text, home).entries
    own = {
        skill.skill: skill
        for skill in reversed(discovery.found)
        if skill.root.personal and isinstance(judge(skill), Candidate)
    }
    gone = [entry.skill for entry in discovery.registry.entries if not entry.remote and not entry.present]
    sync = Sync(path, before is not None, stale=gone)
    editor = _Editor(sync, text, known, home)
    for name in sorted(own):
        editor.take(own[name])
    if not sync.added and not sync.updated:
        return Plan(sync, before, before, editor.values)
    after = editor.text(now)
    _checked(path, after, home)
    lines = [(text or "").splitlines(keepends=True) for text in (before, after)]
    difference = "".join(unified_diff(lines[0], lines[1], path, path))
    return Plan(replace(sync, changes=before != after, difference=difference), before, after, editor.values)


def apply(planned: Plan) -> Sync:
    """Write the planned registry atomically, and return the changes; a link is followed, not replaced.

    Refused if the file changed since the plan was made.
    """
    sync, path = planned.sync, planned.sync.path
    if planned.after is None:
        return sync
    if sync.changes:
        if _read(path) != planned.before:
            hint = "run the command again"
            raise ConflictError(
                "the registry changed in the meantime", code="REGISTRY_CHANGED", hint=hint, path=path
            )
        target = os.path.realpath(path)
        mode = os.stat(target).st_mode & 0o777 if sync.exists else _MODE
        files.write_atomic(target, planned.after.encode(), mode=mode)
    if planned.values != read_written(path):
        beside = os.path.join(os.path.dirname(path), WRITTEN_FILE)
        text = json.dumps(planned.values, indent=1, ensure_ascii=False)
        files.write_atomic(beside, f"{text}\n".encode(), mode=_MODE)
    return replace(sync, written=sync.changes)


def _read(path: str) -> str | None:
    try:
        data = files.read_bounded(path, limit=size_limits.YAML_BYTES, what="the registry", follow=True)
    except files.MissingFileError:
        return None
    return decode(data, source=path)


def _checked(path: str, text: str, home: str) -> Registry:
    """Return a registry; refuse one with errors."""
    registry = parse_registry(text, path, home, {})
    if problems := registry.problems:
        more = "".join(f"; line {problem.line}: {problem.reason}" for problem in problems[1:4])
        raise DocumentError(
            f"{problems[0].reason}{more}",
            code="REGISTRY_INVALID",
            hint="fix the registry, or remove it: it is optional",
            place=f"{path}:{problems[0].line}",
            problems=[asdict(problem) for problem in problems],
        )
    return registry


class _Editor:
    """Edits the text of a registry, whose entries are *known*, and adds the changes to a sync."""

    def __init__(self, sync: Sync, text: str, known: Sequence[RegistryEntry], home: str) -> None:
        self._sync, self._home = sync, home
        self.values = {skill: dict(fields) for skill, fields in read_written(sync.path).items()}
        self._ends = "\r\n" if "\r\n" in text else "\n"
        text = text.replace("\r\n", "\n")
        head = _HEAD.match(text)
        self._head = head[0] if head else ""
        body = text[len(self._head) :]
        self._yaml = _written_like(body)
        try:
            self._data: CommentedMap = self._yaml.load(body)
        except Exception as error:  # its own errors, and those of the libraries below it
            problem = f"ruamel.yaml cannot read it ({type(error).__name__})"
            raise DocumentError(problem, hint="simplify the file", place=sync.path) from error
        self._entries: list[Any] = self._data["workflows"]
        self._known = {entry.skill: (entry, raw) for entry, raw in zip(known, self._entries, strict=True)}
        self._data["workflows"].fa.set_block_style()

    def take(self, skill: FoundSkill) -> None:
        """Update the entry of *skill*, or add one."""
        name, declared = skill.skill, skill.declaration.values
        own = {key: declared[key] for key in SYNCED_FIELDS if key in declared}
        if name not in self._known:
            own.setdefault("schema_version", skill.declaration.assumed_version)
            self._add(skill, own)
            return
        entry, raw = self._known[name]
        if not entry.remote or not (entry.path or raw.get("remote")):  # else it describes a remote workflow
            self._update(entry, raw, own)

    def text(self, now: datetime) -> str:
        """Return the text with the date and the number of workflows."""
        moment = _quoted(now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
        meta = _part(self._data, "meta", CommentedMap)
        self._data["updated_at"] = meta["last_scan"] = moment
        meta["total_workflows"] = len(self._entries)
        stream = io.StringIO()
        self._yaml.dump(self._data, stream)
        return (self._head + stream.getvalue()).replace("\n", self._ends)

    def _add(self, skill: FoundSkill, own: dict[str, Any]) -> None:
        inside = os.path.join(self._home, "")
        path = f"~/{skill.path.removeprefix(inside)}" if skill.path.startswith(inside) else skill.path
        entry = CommentedMap({"name": _quoted(skill.skill)})
        for name in SYNCED_FIELDS:
            if own.get(name) not in (None, "", ()):
                _put(entry, name, own[name])
            if name == "description":
                entry["skill_path"] = _quoted(path)
        self._entries.append(entry)
        self.values[skill.skill] = own
        self._sync.added.append(skill.skill)

    def _update(self, entry: RegistryEntry, raw: CommentedMap, own: Mapping[str, Any]) -> None:
        """Compare each declared field with the registry and with the last sync."""
        skill, written = entry.skill, self.values.setdefault(entry.skill, {})
        for name, declared in own.items():
            value = entry.declaration.values.get(name)
            is_unchanged = value is None or (name in written and same_value(written[name], value))
            change = FieldChange(skill, name, value, declared)
            if same_value(value, declared):
                written[name] = declared
            elif is_unchanged:
                _put(raw, name, declared)
                written[name] = declared
                self._sync.replaced.append(change)
                if skill not in self._sync.updated:
                    self._sync.updated.append(skill)
            else:
                self._sync.edited.append(change)
                written.setdefault(name, declared)


def _put(entry: CommentedMap, name: str, value: object) -> None:
    """Write a field. The items of a list that stay keep their order and comments."""
    section, key = SYNCED_FIELDS[name]
    mapping = _part(entry, section, CommentedMap) if section else entry
    if not isinstance(value, list | tuple):
        mapping[key] = _quoted(value) if isinstance(value, str) else value
        return
    items = _part(mapping, key, CommentedSeq)
    for index in reversed(range(len(items))):
        if items[index] not in value:
            del items[index]
    items.extend(_quoted(item) for item in value if item not in items)


def _part(mapping: CommentedMap, key: str, kind: type[Any]) -> Any:
    """Return the mapping or list at *key*. It is added if it is missing, and replaces a value of another type."""
    if not isinstance(mapping.get(key), kind):
        mapping[key] = kind()
    return mapping[key]


def _written_like(text: str) -> YAML:
    """Return a reader and writer that keeps quotes, and indents as the registry's document does."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = size_limits.YAML_BYTES
    yaml.explicit_start = text.startswith("---")  # there is text on the line of `---`
    yaml.indent(mapping=2, sequence=4, offset=2)
    return yaml


def _quoted(text: str) -> DoubleQuotedScalarString:
    quoted: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return quoted
