"""The optional registry file, read leniently: an error only invalidates its entry.

An entry has the form of a v3 frontmatter and is read the same way. In addition it can have a priority, notes and tags,
and it can describe remote workflows. `registry_sync` writes the file.

A file beside the registry stores the values that a sync wrote last. If a value differs, a person edited it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError

from flowrail.discovery.declaration import FoundSkill, Header, Names, Text, Truth, declared, validate
from flowrail.discovery.frontmatter import Frontmatter, Problem
from flowrail.discovery.locations import Root, Scope, config_folder
from flowrail.errors import DocumentError
from flowrail.storage import files
from flowrail.storage.user_folders import expand
from flowrail.text import size_limits
from flowrail.text import yaml as yaml_text
from flowrail.text.safe_text import in_quotes
from flowrail.text.validation import Bounds

REGISTRY_FILE = "handoff-registry.yaml"
"""The name of the registry in the user's configuration folder."""
WRITTEN_FILE = ".handoff-registry.synced.json"
"""The name of the file beside it with the values that a sync wrote last."""
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
"""The declared fields that a sync writes, each with its section of an entry, if it has one, and its key there."""
REGISTRY_ROOT = Root("", Scope.REGISTRY, "registry")
"""The location of skills that only the registry names."""
Written = dict[str, dict[str, Any]]
"""The values that a sync wrote last, by skill and declared field."""


@dataclass(frozen=True)
class Document:
    """The registry as a whole."""

    workflows: list[Any]


@dataclass(frozen=True)
class Item(Header):
    """An entry as it is written."""

    skill_path: Text = None
    remote: Truth = None
    priority: Annotated[int, Bounds(ge=0, le=999_999)] | None = None
    tags: Names = None
    notes: Names = None


@dataclass(frozen=True)
class RegistryEntry(FoundSkill):
    """A workflow in the registry."""

    remote: bool
    """Whether the workflow is not on this machine."""
    edited: frozenset[str]
    """The declared fields that a person edited since the last sync."""

    @property
    def line(self) -> int:
        """Its line in the registry."""
        return self.declaration.line

    @property
    def present(self) -> bool:
        """Whether its file exists."""
        return not self.remote and os.path.isfile(self.path)


@dataclass(frozen=True)
class Registry:
    """The registry file, which may be missing."""

    path: str
    exists: bool = False
    entries: tuple[RegistryEntry, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Why an entry, or the whole file, is ignored."""


def registry_path(home: str, environ: Mapping[str, str]) -> str:
    """Return the path of the registry; it moves with ``CLAUDE_CONFIG_DIR``."""
    return os.path.join(config_folder(home, environ), REGISTRY_FILE)


def _skill_file(path: str | None, *, remote: bool | None, registry: str, home: str) -> str | None:
    """Return the SKILL.md that an entry's ``skill_path`` names on this machine, or `None` if it is remote."""
    if not path or "://" in path or path.startswith("git@") or remote:
        return None
    return os.path.normpath(os.path.join(os.path.dirname(registry), expand(path, home)))


def read_written(path: str) -> Written:
    """Return the values that a sync wrote last into the registry at *path*; empty if they are unknown."""
    beside = os.path.join(os.path.dirname(path), WRITTEN_FILE)
    try:
        data = files.read_bounded(beside, limit=size_limits.JSON_BYTES, what="the last sync", follow=True)
        return TypeAdapter(Written).validate_json(data)
    except (DocumentError, ValidationError):
        return {}


def same_value(old: object, new: object) -> bool:
    """Whether two values of a field are the same; the order of a list does not matter."""
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return sorted(map(str, old)) == sorted(map(str, new))
    return old == new


def read_registry(path: str, home: str) -> Registry:
    """Return the registry at *path*. If it cannot be read, a problem says why; a missing one is empty."""
    try:
        data = files.read_bounded(path, limit=size_limits.YAML_BYTES, what="the registry", follow=True)
    except files.MissingFileError:
        return Registry(path)
    except DocumentError as error:
        return Registry(path, True, problems=(Problem(f"the registry is ignored: {error.fact}"),))
    return parse_registry(data, path, home, read_written(path))


def parse_registry(text: str | bytes, path: str, home: str, written: Written) -> Registry:
    """Return the registry in *text*, the content of *path*; *written* are the values of the last sync."""
    try:
        document = yaml_text.load(text, source=path, plain_text=True)
    except DocumentError as error:
        problem = Problem(f"the registry is ignored: {error.fact}", error.line)
        return Registry(path, True, problems=(problem,))
    front = Frontmatter(lines=document.places)
    content, found = validate(Document, document.value, front)
    problems = tuple(
        Problem(f"the registry is ignored: {problem.reason}", problem.line or 1) for problem in found
    )
    entries: dict[str, RegistryEntry] = {}
    for index, value in enumerate(content.workflows if content else ()):
        at = ("workflows", index)
        item, found = validate(Item, value, front, *at)
        name = item.name if item else None
        if item is None or name is None:
            named = tuple(Problem(f"entry {index + 1}: {problem.reason}", problem.line) for problem in found)
            problems += named or (Problem(f"entry {index + 1} has no name", front.line(*at)),)
            continue
        entry = _entry(item, name, front.line(*at), path, home, written)
        earlier = entries.setdefault(entry.skill, entry)
        if earlier is not entry:
            reason = f"`{in_quotes(entry.skill)}` is already in line {earlier.line}, which is used"
            problems += (Problem(reason, entry.line),)
    return Registry(path, True, tuple(entries.values()), problems)


def _entry(item: Item, name: str, line: int, registry: str, home: str, written: Written) -> RegistryEntry:
    local = _skill_file(item.skill_path, remote=item.remote, registry=registry, home=home)
    folder = os.path.basename(os.path.dirname(local or ""))
    declaration = declared(item, line)
    own = {"priority": item.priority, "tags": item.tags, "remarks": item.notes}
    values = {**declaration.values, **{key: value for key, value in own.items() if value is not None}}
    synced = written.get(folder or name, {})
    edited = (
        field
        for field in SYNCED_FIELDS
        if field in synced and field in values and not same_value(values[field], synced[field])
    )
    return RegistryEntry(
        skill=folder or name,
        path=local or item.skill_path or "",
        root=REGISTRY_ROOT,
        declaration=replace(declaration, values=values),
        remote=local is None,
        edited=frozenset(edited),
    )
