"""Update the registry from the skills in home, and keep a person's edits.

The file is edited, not rewritten: comments, order, quotes, remote entries and additional keys stay. For each field of a
skill three values are compared: that of the last sync, that of the registry, and that of the frontmatter. If the
registry still has the value of the last sync, it takes the frontmatter's value. If it has a different value, a person
edited it: the edit is kept and listed, until `--replace` takes the frontmatter's value. The result is validated before
it replaces the file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from difflib import unified_diff
from typing import Any

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry import (
    SYNCED_FIELDS,
    WRITTEN_FILE,
    SyncState,
    Written,
    parse_registry,
    read_written,
    same_value,
    skill_file,
)
from flowrail.discovery.registry_text import RegistryText, entry_of, put, value_of
from flowrail.discovery.scan import FoundSkill, judge
from flowrail.errors import ConflictError, DocumentError, UsageError
from flowrail.storage import files
from flowrail.text import limits
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
    removed: list[str] = field(default_factory=list)
    """Skills whose entry a person removed."""
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


def plan(discovery: Discovery, *, home: str, now: datetime, replaced: Collection[str] = ()) -> Plan:
    """Return the plan of a sync of the registry of *discovery*; nothing is written.

    *replaced* names edited values that the frontmatter overwrites: a field of all skills, `SKILL.FIELD`, or a skill.
    Only skills in home that accept handoffs are used, because a project's skills are not available elsewhere. A registry
    that cannot be read or has errors is refused.
    """
    path = discovery.registry.path
    before = _read(path)
    text = _EMPTY if before is None else before
    if before is not None:
        _refuse_invalid(path, text, home)
    document = RegistryText(text, path)
    own = [skill for skill in discovery.found if skill.root.personal and isinstance(judge(skill), Candidate)]
    _refuse_unknown(replaced, {skill.skill for skill in own})
    values = {skill: dict(fields) for skill, fields in read_written(path).items()}
    gone = [entry.folder for entry in discovery.registry.entries if not entry.remote and not entry.present]
    sync = Sync(path, before is not None, stale=gone)
    editor = _Editor(sync, values, document.entries, home, replaced)
    for skill in sorted(
        {skill.skill: skill for skill in reversed(own)}.values(), key=lambda skill: skill.skill
    ):
        editor.take(skill)
    if not sync.added and not sync.updated:
        return Plan(sync, before, before, values)
    after = document.dump(now)
    _refuse_invalid(path, after, home)
    lines = [(text or "").splitlines(keepends=True) for text in (before, after)]
    difference = "".join(unified_diff(lines[0], lines[1], path, path))
    return Plan(replace(sync, changes=before != after, difference=difference), before, after, values)


def apply(planned: Plan) -> Sync:
    """Write the planned registry atomically, and return the changes; a link is followed, not replaced.

    `RegistryChangedError` if the file changed since the plan was made.
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
        text = json.dumps(asdict(SyncState(planned.values)), indent=1, ensure_ascii=False)
        files.write_atomic(beside, f"{text}\n".encode(), mode=_MODE)
    return replace(sync, written=sync.changes)


def _read(path: str) -> str | None:
    try:
        data = files.read_bounded(path, limit=limits.YAML_BYTES, what="the registry", follow=True)
    except files.MissingFileError:
        return None
    return decode(data, source=path)


def _refuse_invalid(path: str, text: str, home: str) -> None:
    """Refuse a registry with errors."""
    if problems := parse_registry(text, path, home, {}).problems:
        more = "".join(f"; line {problem.line}: {problem.reason}" for problem in problems[1:4])
        raise DocumentError(
            f"{problems[0].reason}{more}",
            code="REGISTRY_INVALID",
            hint="fix the registry, or remove it: it is optional",
            place=f"{path}:{problems[0].line}",
            problems=[asdict(problem) for problem in problems],
        )


def _refuse_unknown(replaced: Collection[str], skills: Collection[str]) -> None:
    """Refuse names to replace that are neither a field nor a skill."""
    for name in replaced:
        skill, _, named = name.rpartition(".")
        if name not in {*SYNCED_FIELDS, *skills} and not (skill in skills and named in SYNCED_FIELDS):
            raise UsageError(
                f"nothing to replace is named `{name[:80]}`",
                hint=f"name a skill, a skill's field as SKILL.FIELD, or one of {', '.join(SYNCED_FIELDS)}",
            )


@dataclass(frozen=True)
class _Editor:
    """Edits the entries of the registry, and adds the changes to a sync."""

    sync: Sync
    written: Written
    entries: list[Any]
    home: str
    replaced: Collection[str]

    def take(self, skill: FoundSkill) -> None:
        """Update the entry of *skill*, or add one."""
        name = skill.skill
        values = skill.declaration.values
        own = {key: values[key] for key in SYNCED_FIELDS if key in values}
        entry = next((entry for entry in self.entries if self._describes(entry, name)), None)
        if entry is not None:
            self._update(entry, name, own)
        elif any(entry["name"] == name for entry in self.entries):
            return  # the entry describes a remote workflow of that name
        elif name in self.written and name not in self.replaced:
            self.sync.removed.append(name)
        else:
            inside = os.path.join(self.home, "")
            shown = f"~/{skill.path.removeprefix(inside)}" if skill.path.startswith(inside) else skill.path
            own.setdefault("schema_version", skill.declaration.assumed_version)
            self.entries.append(entry_of(name, shown, own))
            self.written[name] = own
            self.sync.added.append(name)

    def _update(self, entry: Any, skill: str, own: Mapping[str, Any]) -> None:
        """Compare each declared field with the registry and with the last sync."""
        written = self.written.setdefault(skill, {})
        for name, declared in own.items():
            value = value_of(entry, name)
            is_unchanged = same_value(written[name], value) if name in written else value is None
            change = FieldChange(skill, name, value, declared)
            if same_value(value, declared):
                written[name] = declared
            elif is_unchanged or not {skill, name, f"{skill}.{name}"}.isdisjoint(self.replaced):
                put(entry, name, declared)
                self.sync.replaced.append(change)
                written[name] = declared
            else:
                self.sync.edited.append(change)
                written.setdefault(name, declared)
        if any(change.skill == skill for change in self.sync.replaced):
            self.sync.updated.append(skill)

    def _describes(self, entry: Mapping[str, Any], skill: str) -> bool:
        path, remote = entry.get("skill_path"), entry.get("remote")
        local = skill_file(path, remote=remote, registry=self.sync.path, home=self.home)
        if local:
            return os.path.basename(os.path.dirname(local)) == skill
        return "skill_path" not in entry and not remote and entry["name"] == skill
