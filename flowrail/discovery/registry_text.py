"""Edit the text of the registry with ruamel.yaml, so that comments, order and quotes stay as they are."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from flowrail.discovery.registry import SYNCED_FIELDS
from flowrail.errors import DocumentError
from flowrail.text import limits

_ENTRY = re.compile(r"^workflows:.*\n(?:[ \t]*(?:#.*)?\n)*( *)-( +)", re.MULTILINE)
_BEGUN = re.compile(r"(?:[ \t]*+(?:#.*+)?\n)*+---[ \t]*+(?:#.*+)?\n")
_INSIDE = re.compile(r"^\w+:[ \t]*(?:#.*)?\n( +)\w", re.MULTILINE)


class RegistryText:
    """The registry at *path* with the content *text*, to be edited."""

    def __init__(self, text: str, path: str) -> None:
        self._head, body = _without_head(text)
        self._ends = "\r\n" if "\r\n" in text else "\n"
        self._yaml = _written_like(body)
        try:
            self._data: CommentedMap = self._yaml.load(body)
        except Exception as error:  # its own errors, and those of the libraries below it
            raise DocumentError(
                f"ruamel.yaml cannot read it ({type(error).__name__})", hint="simplify the file", place=path
            ) from error
        self._data["workflows"].fa.set_block_style()

    @property
    def entries(self) -> list[Any]:
        """The entries, to be changed in place."""
        entries: list[Any] = self._data["workflows"]
        return entries

    def dump(self, now: datetime) -> str:
        """Return the text with the date and the number of workflows."""
        moment = _quoted(now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
        meta = _part(self._data, "meta", CommentedMap)
        self._data["updated_at"] = meta["last_scan"] = moment
        meta["total_workflows"] = len(self.entries)
        stream = io.StringIO()
        self._yaml.dump(self._data, stream)
        return (self._head + stream.getvalue()).replace("\n", self._ends)


def entry_of(skill: str, path: str, values: Mapping[str, Any]) -> CommentedMap:
    """Return a new entry for a skill."""
    entry = CommentedMap({"name": _quoted(skill)})
    for field in SYNCED_FIELDS:
        if values.get(field) not in (None, "", ()):
            put(entry, field, values[field])
        if field == "description":
            entry["skill_path"] = _quoted(path)
    return entry


def value_of(entry: Mapping[str, Any], field: str) -> object:
    """Return the value of a field in an entry, or `None`."""
    section, key = SYNCED_FIELDS[field]
    part = entry.get(section) if section else entry
    value = part.get(key) if isinstance(part, Mapping) else None
    if isinstance(value, list):
        return [str(item) for item in value]
    return str(value) if isinstance(value, str) else value


def put(entry: CommentedMap, field: str, value: object) -> None:
    """Write a field. The items of a list that stay keep their order and comments."""
    section, key = SYNCED_FIELDS[field]
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
    """Return a reader and writer that indents as *text* does."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = limits.YAML_BYTES
    yaml.explicit_start = text.startswith("---")  # there is text on the line of `---`
    entry, inside = _ENTRY.search(text), _INSIDE.search(text)
    dash, gap = (len(entry[1]), len(entry[2])) if entry else (2, 1)
    yaml.indent(mapping=len(inside[1]) if inside else 2, sequence=dash + 1 + gap, offset=dash)
    return yaml


def _without_head(text: str) -> tuple[str, str]:
    """Return the text up to the mark `---`, where ruamel.yaml would drop comments, and the document after it."""
    text = text.replace("\r\n", "\n")
    head = _BEGUN.match(text)
    end = head.end() if head else 0
    return text[:end], text[end:]


def _quoted(text: str) -> DoubleQuotedScalarString:
    quoted: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return quoted
