"""Read the optional registry file leniently: a mistake in it costs one entry, never the discovery.

An entry has the form of a v3 frontmatter and is read the same way. In addition it has what frontmatter cannot hold:
priority, notes, tags, and workflows on other machines. `registry.schema` validates the file strictly, `registry.sync`
writes it.
"""

from __future__ import annotations

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

#: What the optional registry is called, in the user's own configuration folder.
REGISTRY_FILE = "handoff-registry.yaml"
_ORIGIN = "registry"
_DIGITS = 6


class RegistryEntry(NamedTuple):
    """A workflow as the registry has it.

    ``path`` is where its SKILL.md should be, empty where none is named. ``remote`` holds for one
    that lives elsewhere, ``present`` for one whose file is there.
    """

    name: str
    path: str
    remote: bool
    present: bool
    reading: Reading
    line: int = 0

    @property
    def folder(self) -> str:
        """The key it goes by: its folder's name, or its own name where it has no folder here."""
        parts = self.path.replace("\\", "/").split("/")
        return parts[-2] if not self.remote and len(parts) > 1 else self.name

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON: what it says, and nothing that it does not."""
        said = {name: value for name, value in self.reading.declared._asdict().items() if value is not None}
        return {
            **said,
            "skill": self.folder,
            "path": self.path,
            "remote": self.remote,
            "present": self.present,
            "line": self.line,
        }


class Registry(NamedTuple):
    """The registry file, which need not exist."""

    path: str
    exists: bool = False
    entries: tuple[RegistryEntry, ...] = ()
    notes: tuple[Note, ...] = ()

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {
            "path": self.path,
            "exists": self.exists,
            "workflows": [entry.data() for entry in self.entries],
            "notes": [note.data() for note in self.notes],
        }


def registry_path(home: str, environ: Mapping[str, str]) -> str:
    """Return where the registry would be; it moves with ``CLAUDE_CONFIG_DIR``."""
    return os.path.join(config_folder(home, environ), REGISTRY_FILE)


def skill_file(entry: Mapping[str, object], *, registry: str, home: str) -> str | None:
    """Return where the SKILL.md of *entry* is to lie on this machine, or None if it lives elsewhere."""
    path = _stripped(entry.get("skill_path"))
    if not path or "://" in path or path.startswith("git@") or entry.get("remote") in (True, "true"):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(registry), expand(path, home)))


def read_registry(path: str, home: str) -> Registry:
    """Return what the file at *path* holds; one that cannot be read is a note, a missing one nothing."""
    try:
        data = files.read_bounded(path, limit=limits.YAML_BYTES, what="the registry", follow=True)
        document = yaml_text.load(data, source=path, plain_text=True)
    except files.MissingFileError:
        return Registry(path)
    except DocumentError as problem:
        return Registry(path, True, notes=(_unreadable(path, problem.fact, _line(problem)),))
    return _RegistryReader(path, home).read(document)


class _RegistryReader:
    """Reads one registry and collects what was odd about it."""

    def __init__(self, path: str, home: str) -> None:
        self._path = path
        self._home = home
        self._notes: list[Note] = []
        self._seen: dict[str, int] = {}

    def read(self, document: yaml_text.Document) -> Registry:
        value = document.value
        items = value.get("workflows") if isinstance(value, dict) else None
        if not isinstance(items, list):
            line = document.line(("workflows",))
            return Registry(
                self._path, True, notes=(_unreadable(self._path, "it has no list `workflows`", line),)
            )
        lines = _lines_of(document, len(items))
        found = [self._entry(index, each, lines[index]) for index, each in enumerate(items)]
        return Registry(self._path, True, tuple(filter(None, found)), tuple(self._notes))

    def _entry(
        self, index: int, value: object, lines: Mapping[tuple[str | int, ...], int]
    ) -> RegistryEntry | None:
        line = lines[()]
        if not isinstance(value, dict):
            self._note("REGISTRY_ENTRY_INVALID", f"entry {index + 1} is no mapping", line)
            return None
        reading = read_metadata(Frontmatter(value, lines), self._path)
        self._notes.extend(reading.notes)
        name = reading.declared.name
        if name is None:
            self._note("REGISTRY_ENTRY_INVALID", f"entry {index + 1} has no name", line)
            return None
        local = skill_file(value, registry=self._path, home=self._home)
        path = local or _stripped(value.get("skill_path"))
        reading = self._with_own_fields(value, reading, lines)
        entry = RegistryEntry(
            name, path, local is None, local is not None and os.path.isfile(local), reading, line
        )
        first = self._seen.setdefault(entry.folder, line)
        if first != line:
            self._note(
                "REGISTRY_DUPLICATE", f"`{entry.folder}` stands in line {first} already, which counts", line
            )
            return None
        return entry

    def _with_own_fields(
        self, value: Mapping[str, object], reading: Reading, lines: Mapping[tuple[str | int, ...], int]
    ) -> Reading:
        priority = value.get("priority")
        number = _number(priority)
        if priority is not None and number is None:
            self._note("REGISTRY_ENTRY_INVALID", "`priority` is no whole number", lines[("priority",)])
        declared = reading.declared._replace(
            priority=number, tags=_texts(value.get("tags")), remarks=_texts(value.get("notes"))
        )
        origins = {field: _ORIGIN for field, said in declared._asdict().items() if said is not None}
        return reading._replace(declared=declared, origins=origins)

    def _note(self, code: str, reason: str, line: int) -> None:
        self._notes.append(Note(code, reason, self._path, line))


def _lines_of(document: yaml_text.Document, count: int) -> list[dict[tuple[str | int, ...], int]]:
    """Return the lines of each entry's pieces, by their path inside the entry."""
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
    return tuple(each for each in texts if isinstance(each, str)) or None if isinstance(texts, list) else None


def _unreadable(path: str, fact: str, line: int) -> Note:
    return Note("REGISTRY_UNREADABLE", f"the registry is passed over: {fact}", path, line)


def _line(problem: DocumentError) -> int:
    number = problem.place.rpartition(":")[2]
    return int(number) if number.isdecimal() else 0
