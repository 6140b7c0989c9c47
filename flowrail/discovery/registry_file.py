"""Read the optional registry file leniently: an error only invalidates its entry.

An entry has the form of a v3 frontmatter and is read the same way. In addition it can have a priority, notes and tags,
and it can describe remote workflows. `registry.sync` writes the file.

A file beside the registry stores the values that `sync` wrote last. If a value differs, a person edited it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import NamedTuple

from flowrail.discovery.diagnostics import Note
from flowrail.discovery.locations import config_folder, expand
from flowrail.discovery.scan.declaration import Reading, read_metadata
from flowrail.discovery.scan.frontmatter import Frontmatter
from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.text import limits
from flowrail.text import yaml as yaml_text

REGISTRY_FILE = "handoff-registry.yaml"
"""The name of the registry in the user's configuration folder."""

WRITTEN_FILE = ".handoff-registry.synced.json"
"""The name of the file beside it with the values that `sync` wrote last."""

SYNCED_FIELDS: Mapping[str, tuple[str, str]] = {
    "version": ("", "version"),
    "description": ("", "description"),
    "accepts_from": ("handoff", "accepts_from"),
    "provides_to": ("handoff", "provides_to"),
    "schema_version": ("handoff", "schema_version"),
    "schema_type": ("handoff", "schema_type"),
    "categories": ("", "categories"),
    "input_requirements": ("", "input_requirements"),
    "output_types": ("", "output_types"),
    "duration": ("meta", "estimated_duration"),
    "complexity": ("meta", "complexity"),
    "autonomous": ("meta", "autonomous"),
}
"""The fields of a candidate that `sync` writes, each with its section of an entry, if it has one, and its key there."""

Written = Mapping[str, Mapping[str, object]]
"""The values that `sync` wrote last, by skill and field of a candidate."""

_ORIGIN = "registry"
_DIGITS = 6


class RegistryEntry(NamedTuple):
    """A workflow in the registry.

    ``path`` is the path of its SKILL.md, or empty. ``remote`` says that the workflow is not on this machine,
    ``present`` that its file exists. ``edited`` are the fields of a candidate that a person edited since the last sync.
    """

    name: str
    path: str
    remote: bool
    present: bool
    reading: Reading
    line: int = 0
    edited: frozenset[str] = frozenset()

    @property
    def folder(self) -> str:
        """Its key: the name of its folder, or its own name if it has no folder here."""
        parts = self.path.replace("\\", "/").split("/")
        return parts[-2] if not self.remote and len(parts) > 1 else self.name


class Registry(NamedTuple):
    """The registry file, which may be missing."""

    path: str
    exists: bool = False
    entries: tuple[RegistryEntry, ...] = ()
    notes: tuple[Note, ...] = ()


def registry_path(home: str, environ: Mapping[str, str]) -> str:
    """Return the path of the registry; it moves with ``CLAUDE_CONFIG_DIR``."""
    return os.path.join(config_folder(home, environ), REGISTRY_FILE)


def skill_file(entry: Mapping[str, object], *, registry: str, home: str) -> str | None:
    """Return the path of the SKILL.md of *entry* on this machine, or `None` if it is remote."""
    path = _stripped(entry.get("skill_path"))
    if not path or "://" in path or path.startswith("git@") or entry.get("remote") in (True, "true"):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(registry), expand(path, home)))


def read_written(path: str) -> Written:
    """Return the values that `sync` wrote last into the registry at *path*; empty if they are unknown."""
    beside = os.path.join(os.path.dirname(path), WRITTEN_FILE)
    try:
        data = files.read_bounded(beside, limit=limits.JSON_BYTES, what="the last sync", follow=True)
        value = json.loads(data)
    except (DocumentError, ValueError, RecursionError):
        return {}
    skills = value.get("workflows") if isinstance(value, dict) else None
    if not isinstance(skills, dict):
        return {}
    return {skill: fields for skill, fields in skills.items() if isinstance(fields, dict)}


def same_value(old: object, new: object) -> bool:
    """Whether two values of a field are the same; the order of a list does not matter."""
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return sorted(map(str, old)) == sorted(map(str, new))
    return old == new


def read_registry(path: str, home: str) -> Registry:
    """Return the registry at *path*. If it cannot be read, a note says why; a missing one is empty."""
    try:
        data = files.read_bounded(path, limit=limits.YAML_BYTES, what="the registry", follow=True)
    except files.MissingFileError:
        return Registry(path)
    except DocumentError as problem:
        return Registry(path, True, notes=(_unreadable(path, problem.fact, _line(problem)),))
    return parse_registry(data, path, home, read_written(path))


def parse_registry(text: str | bytes, path: str, home: str, written: Written) -> Registry:
    """Return the registry in *text*, the content of *path*; *written* are the values of the last sync."""
    try:
        document = yaml_text.load(text, source=path, plain_text=True)
    except DocumentError as problem:
        return Registry(path, True, notes=(_unreadable(path, problem.fact, _line(problem)),))
    return _RegistryReader(path, home, written).read(document)


class _RegistryReader:
    """Reads one registry and collects notes about it."""

    def __init__(self, path: str, home: str, written: Written) -> None:
        self._path = path
        self._home = home
        self._written = written
        self._notes: list[Note] = []
        self._first_lines: dict[str, int] = {}

    def read(self, document: yaml_text.Document) -> Registry:
        value = document.value
        items = value.get("workflows") if isinstance(value, dict) else None
        if not isinstance(items, list):
            line = document.line(("workflows",))
            return Registry(
                self._path, True, notes=(_unreadable(self._path, "the list `workflows` is missing", line),)
            )
        lines = _lines_of(document, len(items))
        entries = [self._entry(index, item, lines[index]) for index, item in enumerate(items)]
        return Registry(self._path, True, tuple(filter(None, entries)), tuple(self._notes))

    def _entry(
        self, index: int, value: object, lines: Mapping[tuple[str | int, ...], int]
    ) -> RegistryEntry | None:
        line = lines[()]
        if not isinstance(value, dict):
            self._note("REGISTRY_ENTRY_INVALID", f"entry {index + 1} is not a mapping", line)
            return None
        reading = read_metadata(Frontmatter(value, lines), self._path)
        self._notes.extend(reading.notes)
        name = reading.declared.get("name")
        if name is None:
            self._note("REGISTRY_ENTRY_INVALID", f"entry {index + 1} has no name", line)
            return None
        local = skill_file(value, registry=self._path, home=self._home)
        path = local or _stripped(value.get("skill_path"))
        reading = self._with_own_fields(value, reading, lines)
        entry = RegistryEntry(
            name, path, local is None, local is not None and os.path.isfile(local), reading, line
        )
        entry = entry._replace(edited=self._edited(entry))
        first = self._first_lines.setdefault(entry.folder, line)
        if first != line:
            self._note(
                "REGISTRY_DUPLICATE", f"`{entry.folder}` is already in line {first}, which is used", line
            )
            return None
        return entry

    def _edited(self, entry: RegistryEntry) -> frozenset[str]:
        """Return the fields whose value differs from the last sync."""
        written = self._written.get(entry.folder, {})
        declared = dict(entry.reading.declared)
        declared["description"] = declared.get("summary")
        return frozenset(
            field
            for field in SYNCED_FIELDS
            if field in written
            and declared.get(field) is not None
            and not same_value(declared[field], written[field])
        )

    def _with_own_fields(
        self, value: Mapping[str, object], reading: Reading, lines: Mapping[tuple[str | int, ...], int]
    ) -> Reading:
        priority = value.get("priority")
        number = _number(priority)
        if priority is not None and number is None:
            self._note(
                "REGISTRY_ENTRY_INVALID", "`priority` is not a whole number from 0", lines[("priority",)]
            )
        own = {"priority": number, "tags": _texts(value.get("tags")), "remarks": _texts(value.get("notes"))}
        valid = {field: value for field, value in own.items() if value is not None}
        declared = {**reading.declared, **valid}
        return reading._replace(declared=declared, origins=dict.fromkeys(declared, _ORIGIN))

    def _note(self, code: str, reason: str, line: int) -> None:
        self._notes.append(Note(code, reason, self._path, line))


def _lines_of(document: yaml_text.Document, count: int) -> list[dict[tuple[str | int, ...], int]]:
    """Return the lines of the values of each entry, by their path inside the entry."""
    lines: list[dict[tuple[str | int, ...], int]] = [{} for _ in range(count)]
    for path, line in document.places.items():
        if len(path) > 1 and path[0] == "workflows" and isinstance(path[1], int):
            lines[path[1]][path[2:]] = line
    return lines


def _number(value: object) -> int | None:
    digits = value if isinstance(value, str) else ""
    return int(digits) if digits.isdecimal() and len(digits) <= _DIGITS else None


def _stripped(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...] | None:
    texts = [value] if isinstance(value, str) else value
    return tuple(text for text in texts if isinstance(text, str)) or None if isinstance(texts, list) else None


def _unreadable(path: str, fact: str, line: int) -> Note:
    return Note("REGISTRY_UNREADABLE", f"the registry is ignored: {fact}", path, line)


def _line(problem: DocumentError) -> int:
    number = problem.place.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0
