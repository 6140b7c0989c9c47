"""What a document says about taking over work, before anything is judged or filled in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flowrail.discovery.diagnostics import Note

#: What the optional registry is called, in the user's own configuration folder.
REGISTRY_FILE = "handoff-registry.yaml"


class Declared(NamedTuple):
    """What was said, and None for what was not; nothing is filled in here."""

    name: str | None = None
    summary: str | None = None
    version: str | None = None
    accepts_from: tuple[str, ...] | None = None
    provides_to: tuple[str, ...] | None = None
    categories: tuple[str, ...] | None = None
    description: str | None = None
    trigger: str | None = None
    schema_version: str | None = None
    schema_type: str | None = None
    requires: tuple[str, ...] | None = None
    optional_consumes: tuple[str, ...] | None = None
    input_requirements: tuple[str, ...] | None = None
    output_types: tuple[str, ...] | None = None
    health_check: str | None = None
    duration: str | None = None
    complexity: str | None = None
    autonomous: bool | None = None
    priority: int | None = None
    tags: tuple[str, ...] | None = None
    remarks: tuple[str, ...] | None = None


class Reading(NamedTuple):
    """What one document declares, under which key each field stands, and what was odd about it.

    ``dialect`` is ``v2``, ``v3`` or ``v2+v3``, and empty where nothing is said about handoffs;
    ``line`` is where that begins.
    """

    declared: Declared = Declared()
    origins: Mapping[str, str] = {}
    dialect: str = ""
    line: int = 0
    notes: tuple[Note, ...] = ()


class SkillFile(NamedTuple):
    """A SKILL.md as read; ``problem`` says why nothing could be, where that is so."""

    reading: Reading
    problem: Note | None = None


class Entry(NamedTuple):
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
    entries: tuple[Entry, ...] = ()
    notes: tuple[Note, ...] = ()

    def data(self) -> dict[str, object]:
        """Return it as plain data, for JSON."""
        return {
            "path": self.path,
            "exists": self.exists,
            "workflows": [entry.data() for entry in self.entries],
            "notes": [note.data() for note in self.notes],
        }
