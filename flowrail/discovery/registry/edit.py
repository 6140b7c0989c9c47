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

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.discovery.registry_file import SYNCED_FIELDS
from flowrail.errors import DocumentError
from flowrail.text import limits

_ENTRY = re.compile(r"^workflows:.*\n(?:[ \t]*(?:#.*)?\n)*( *)-( +)", re.MULTILINE)
_BEGUN = re.compile(r"(?:[ \t]*+(?:#.*+)?\n)*+---[ \t]*+(?:#.*+)?\n")
_INSIDE = re.compile(r"^\w+:[ \t]*(?:#.*)?\n( +)\w", re.MULTILINE)


def entry_of(candidate: Candidate, path: str) -> CommentedMap:
    """Return a new entry for a skill."""
    entry = CommentedMap({"name": _quoted(candidate.skill)})
    for field in SYNCED_FIELDS:
        value = getattr(candidate, field)
        if value not in (None, "", ()):
            put(entry, field, value)
        if field == "description":
            entry["skill_path"] = _quoted(path)
    return entry


def value_of(entry: Mapping[str, Any], field: str) -> object:
    """Return the value of a field in an entry, or `None`."""
    section, key = SYNCED_FIELDS[field]
    part = entry.get(section) if section else entry
    return plain(part.get(key)) if isinstance(part, Mapping) else None


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


def plain(value: object) -> object:
    """Return a value as plain data for JSON, without the types of ruamel.yaml."""
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(value) if isinstance(value, str) else value


def put_date(data: CommentedMap, now: datetime) -> None:
    """Write the date, and the number of workflows."""
    moment = _quoted(now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
    meta = _part(data, "meta", CommentedMap)
    data["updated_at"] = meta["last_scan"] = moment
    meta["total_workflows"] = len(data["workflows"])


def written_like(text: str) -> YAML:
    """Return a reader and writer that indents as *text* does."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = limits.YAML_BYTES
    yaml.explicit_start = _without_head(text)[1].startswith("---")  # there is text on the line of `---`
    entry, inside = _ENTRY.search(text), _INSIDE.search(text)
    dash, gap = (len(entry[1]), len(entry[2])) if entry else (2, 1)
    yaml.indent(mapping=len(inside[1]) if inside else 2, sequence=dash + 1 + gap, offset=dash)
    return yaml


def load(yaml: YAML, text: str, path: str) -> CommentedMap:
    """Return the document in *text*, comments included."""
    try:
        data: CommentedMap = yaml.load(_without_head(text)[1])
    except Exception as error:  # its own errors, and those of the libraries below it
        raise DocumentError(
            f"ruamel.yaml cannot read it ({type(error).__name__})",
            hint=Hint("simplify it; see where: ", Command("registry check")),
            place=path,
        ) from error
    data["workflows"].fa.set_block_style()
    return data


def dump(yaml: YAML, data: CommentedMap, like: str) -> str:
    """Return *data* as text, with the head and the line ends of *like*."""
    stream = io.StringIO()
    yaml.dump(data, stream)
    text = _without_head(like)[0] + stream.getvalue()
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def _without_head(text: str) -> tuple[str, str]:
    """Return the text up to the mark `---`, where ruamel.yaml would drop comments, and the document after it."""
    text = text.replace("\r\n", "\n")
    head = _BEGUN.match(text)
    end = head.end() if head else 0
    return text[:end], text[end:]


def _quoted(text: str) -> DoubleQuotedScalarString:
    quoted: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return quoted
