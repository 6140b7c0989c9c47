"""Update the registry from the skills in home, and keep a person's edits.

The file is edited, not rewritten: comments, order, quotes, remote entries and additional keys stay. For each field of a
skill three values are compared: that of the last sync, that of the registry, and that of the frontmatter. If the
registry still has the value of the last sync, it takes the frontmatter's value. If it has a different value, a person
edited it: the edit is kept and listed, until `--replace` takes the frontmatter's value. The result is validated before
it replaces the file.
"""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection, Mapping, MutableSequence
from datetime import datetime
from difflib import unified_diff
from typing import Any, NamedTuple

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.diagnostics import ERROR
from flowrail.discovery.index import Discovery
from flowrail.discovery.registry.edit import (
    dump,
    entry_of,
    load,
    plain,
    put,
    put_date,
    value_of,
    written_like,
)
from flowrail.discovery.registry_file import (
    SYNCED_FIELDS,
    WRITTEN_FILE,
    parse_registry,
    read_written,
    same_value,
    skill_file,
)
from flowrail.discovery.scan.eligibility import EDITED
from flowrail.errors import ConflictError, DocumentError, UsageError
from flowrail.storage import files
from flowrail.text import limits
from flowrail.text.safe_text import decode

_MODE = 0o600


class RegistryChangedError(ConflictError):
    """The registry changed while a sync was planned."""

    code = "REGISTRY_CHANGED"


class RegistryInvalidError(DocumentError):
    """The registry has errors that must be fixed first; ``notes`` lists them all."""

    code = "REGISTRY_INVALID"


class FieldChange(NamedTuple):
    """A field with the value in the registry, and the value that the skill declares."""

    skill: str
    field: str
    registry: object
    declared: object


@dataclasses.dataclass
class Sync:
    """The plan of a sync: the texts before and after, and the workflows that it concerns.

    ``before`` is `None` if there is no registry. ``replaced`` are values that are overwritten, ``edited`` those that a
    person edited and that stay, ``removed`` entries that a person removed. ``stale`` entries have no skill any more; they
    are kept. ``written`` are the values with which the next sync compares.
    """

    path: str
    before: bytes | None
    after: bytes | None
    written: dict[str, dict[str, object]]
    stale: list[str]
    added: list[str] = dataclasses.field(default_factory=list)
    updated: list[str] = dataclasses.field(default_factory=list)
    replaced: list[FieldChange] = dataclasses.field(default_factory=list)
    edited: list[FieldChange] = dataclasses.field(default_factory=list)
    removed: list[str] = dataclasses.field(default_factory=list)

    @property
    def changes(self) -> bool:
        """Whether the registry would change."""
        return self.before != self.after

    @property
    def difference(self) -> str:
        """The change, as a unified diff."""
        lines = [(text or b"").decode().splitlines(keepends=True) for text in (self.before, self.after)]
        return "".join(unified_diff(lines[0], lines[1], self.path, self.path))


def plan(path: str, discovery: Discovery, *, home: str, now: datetime, replace: Collection[str] = ()) -> Sync:
    """Return the plan of a sync of the registry at *path*; nothing is written.

    *replace* names edited values that the frontmatter overwrites: a field of all skills, `SKILL.FIELD`, or a skill.
    Only skills in home are used, because a project's skills are not available elsewhere. A registry that cannot be read
    or has errors is refused.
    """
    before = _read(path)
    text = _EMPTY if before is None else decode(before, source=path)
    if before is not None:
        _refuse_invalid(path, text, home)
    yaml = written_like(text)
    data = load(yaml, text, path)
    written = {skill: dict(fields) for skill, fields in read_written(path).items()}
    stale = [skill.skill for skill in discovery.skipped if skill.code == "REGISTRY_STALE"]
    sync = Sync(path, before, before, written, stale)
    editor = _RegistryEditor(sync, data["workflows"], home, replace)
    for candidate in _in_home(discovery):
        editor.take(candidate)
    editor.refuse_unused()
    if sync.added or sync.updated:
        put_date(data, now)
        after = dump(yaml, data, text)
        _refuse_invalid(path, after, home)
        sync.after = after.encode()
    return sync


def apply(sync: Sync) -> None:
    """Write the planned registry atomically; a link is followed, not replaced.

    `RegistryChangedError` if the file changed since the plan was made.
    """
    if sync.after is not None and sync.changes:
        _write(sync, sync.after)
    if sync.written != read_written(sync.path) and sync.after is not None:
        beside = os.path.join(os.path.dirname(sync.path), WRITTEN_FILE)
        text = json.dumps({"version": 1, "workflows": sync.written}, indent=1, ensure_ascii=False)
        files.write_atomic(beside, f"{text}\n".encode(), mode=_MODE)


def _write(sync: Sync, after: bytes) -> None:
    if _read(sync.path) != sync.before:
        raise RegistryChangedError(
            "the registry changed in the meantime",
            hint=Hint("run it again: ", Command("registry sync")),
            path=sync.path,
        )
    target = os.path.realpath(sync.path)
    mode = os.stat(target).st_mode & 0o777 if sync.before is not None else _MODE
    files.write_atomic(target, after, mode=mode)


def _read(path: str) -> bytes | None:
    try:
        return files.read_bounded(path, limit=limits.YAML_BYTES, what="the registry", follow=True)
    except files.MissingFileError:
        return None


def _refuse_invalid(path: str, text: str, home: str) -> None:
    """Refuse a registry with errors."""
    if errors := [note for note in parse_registry(text, path, home, {}).notes if note.severity == ERROR]:
        more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
        raise RegistryInvalidError(
            f"{errors[0].reason}{more}",
            hint=Hint("fix it; see all errors: ", Command("registry check")),
            place=errors[0].place,
            notes=[note.data() for note in errors],
        )


def _in_home(discovery: Discovery) -> list[Candidate]:
    """Return the skills in home, including those that a project's skill hides."""
    personal = {root.path for root in discovery.places.roots if root.personal}
    own = [
        candidate
        for candidate in (*discovery.candidates, *discovery.hidden)
        if candidate.root in personal and not candidate.remote
    ]
    return sorted(own, key=lambda candidate: candidate.skill)


# --- editing --------------------------------------------------------------------------------------

_EMPTY = """\
version: "1.0"
updated_at: ""

workflows: []

meta:
  total_workflows: 0
  last_scan: ""
  discovery_mode: "hybrid"
"""


class _RegistryEditor:
    """Edits the entries of the registry, and records the changes in a sync."""

    def __init__(
        self, sync: Sync, entries: MutableSequence[Any], home: str, replace: Collection[str]
    ) -> None:
        self._sync = sync
        self._entries = entries
        self._home = home
        self._replace = dict.fromkeys(replace, False)

    def take(self, candidate: Candidate) -> None:
        """Update the entry of *candidate*, or add one."""
        entry = next((entry for entry in self._entries if self._is_about(entry, candidate)), None)
        if entry is not None:
            self._update(entry, candidate)
        elif any(entry["name"] == candidate.skill for entry in self._entries):
            return  # the entry describes a remote workflow of that name
        elif candidate.skill in self._sync.written and not self._is_replaced(candidate.skill, ""):
            self._sync.removed.append(candidate.skill)
        else:
            entry = entry_of(candidate, self._display_path(candidate.path))
            self._entries.append(entry)
            values = {field: value_of(entry, field) for field in SYNCED_FIELDS}
            self._sync.written[candidate.skill] = {
                field: value for field, value in values.items() if value is not None
            }
            self._sync.added.append(candidate.skill)

    def refuse_unused(self) -> None:
        """Refuse names to replace that are neither a field nor a skill."""
        unused = [name for name, used in self._replace.items() if not used and name not in SYNCED_FIELDS]
        if unused:
            raise UsageError(
                f"nothing to replace is named `{unused[0][:80]}`",
                hint=f"name a skill, a skill's field as SKILL.FIELD, or one of {', '.join(SYNCED_FIELDS)}",
            )

    def _update(self, entry: Any, candidate: Candidate) -> None:
        """Compare each declared field with the registry and with the last sync."""
        skill = candidate.skill
        written = self._sync.written.setdefault(skill, {})
        replaced: list[FieldChange] = []
        for field in SYNCED_FIELDS:
            declared, value = self._declared(candidate, field), value_of(entry, field)
            if declared is None:
                continue
            change = FieldChange(skill, field, value, declared)
            is_unchanged = field in written and same_value(written[field], value)
            is_new = value is None and field not in written
            if same_value(value, declared):
                written[field] = declared
            elif is_unchanged or is_new or self._is_replaced(skill, field):
                put(entry, field, declared)
                replaced.append(change)
                written[field] = declared
            else:
                self._sync.edited.append(change)
                written.setdefault(field, declared)
        if replaced:
            self._sync.replaced += replaced
            self._sync.updated.append(skill)

    def _is_replaced(self, skill: str, field: str) -> bool:
        """Whether the frontmatter's value was requested."""
        names = {skill, field, f"{skill}.{field}"} & self._replace.keys()
        self._replace |= dict.fromkeys(names, True)
        return bool(names)

    def _declared(self, candidate: Candidate, field: str) -> object:
        """Return the value that the skill itself declares, or `None`."""
        if field in candidate.overridden:
            return plain(candidate.overridden[field])
        if candidate.origins.get(field, "registry") in {"registry", EDITED, "default", ""}:
            return None
        value = plain(getattr(candidate, field))
        return None if value in ("", []) else value

    def _is_about(self, item: Mapping[str, object], candidate: Candidate) -> bool:
        path = skill_file(item, registry=self._sync.path, home=self._home)
        if path:
            return os.path.basename(os.path.dirname(path)) == candidate.skill
        named = "skill_path" not in item and not item.get("remote")
        return bool(named and item["name"] == candidate.skill)

    def _display_path(self, path: str) -> str:
        inside = os.path.join(self._home, "")
        return f"~/{path.removeprefix(inside)}" if path.startswith(inside) else path
