"""The registry's text while it is edited: comments, order and quotes stay as a person wrote them.

The one door to ruamel.yaml, which alone can do this.
"""

from __future__ import annotations

import io
import re
from datetime import UTC, datetime
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from flowrail.discovery.candidate import Candidate
from flowrail.discovery.registry import LIMIT
from flowrail.errors import DocumentError

_TOP = ("version", "description", "categories", "input_requirements", "output_types")
_HANDOFF = ("accepts_from", "provides_to", "schema_version", "schema_type")
_META = (("duration", "estimated_duration"), ("complexity", "complexity"), ("autonomous", "autonomous"))


def append(items: Any, entry: CommentedMap) -> None:
    """Add an entry on lines of its own."""
    items.append(entry)
    items.fa.set_block_style()


def entry_of(candidate: Candidate, path: str) -> CommentedMap:
    """Return a new entry: all that the registry shows of a workflow."""
    entry = CommentedMap({"name": _quoted(candidate.skill)})
    _put(entry, "version", candidate.version)
    _put(entry, "description", candidate.description)
    entry["skill_path"] = _quoted(path)
    entry["handoff"] = CommentedMap()
    for field in _HANDOFF:
        _put(entry["handoff"], field, getattr(candidate, field))
    for field in _TOP[2:]:
        _put(entry, field, getattr(candidate, field))
    meta = CommentedMap()
    for field, key in _META:
        _put(meta, key, getattr(candidate, field))
    if meta:
        entry["meta"] = meta
    return entry


def update(item: CommentedMap, candidate: Candidate) -> bool:
    """Write over *item* what the frontmatter declares; False where it says so already."""
    meta, block = item.get("meta", CommentedMap()), item.get("handoff", CommentedMap())
    fields = [
        *((item, field, field) for field in _TOP),
        *((block, field, field) for field in _HANDOFF),
        *((meta, field, key) for field, key in _META),
    ]
    changed = [
        _set(mapping, key, getattr(candidate, field))
        for mapping, field, key in fields
        if candidate.origins.get(field, "registry") not in {"registry", "default"}
    ]
    for key, part in (("handoff", block), ("meta", meta)):
        if part and key not in item:
            item[key] = part
    return any(changed)


def _put(mapping: CommentedMap, key: str, value: object) -> None:
    if value not in (None, "", ()):
        _set(mapping, key, value)


def _set(mapping: CommentedMap, key: str, value: object) -> bool:
    """Make *key* say *value*, and leave all as it stands where it says so already, in whatever order."""
    known = mapping.get(key)
    if not isinstance(value, tuple):
        if known == value:
            return False
        mapping[key] = _quoted(value) if isinstance(value, str) else value
        return True
    if key not in mapping:
        known = mapping[key] = CommentedSeq()
    gone = [place for place, each in enumerate(known) if each not in value]
    new = [each for each in value if each not in known]
    for place in reversed(gone):
        del known[place]
    known.extend(map(_quoted, new))
    return bool(gone or new)


def _quoted(text: str) -> DoubleQuotedScalarString:
    quoted: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return quoted


def miscounted(data: CommentedMap) -> bool:
    """Whether it says another number of workflows than there are."""
    said = (data.get("meta") or {}).get("total_workflows")
    return said is not None and said != len(data["workflows"])


def put_date(data: CommentedMap, now: datetime) -> None:
    """Say when it was written, and how many workflows there are."""
    moment = _quoted(now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
    meta = data.setdefault("meta", CommentedMap())
    data["updated_at"] = meta["last_scan"] = moment
    meta["total_workflows"] = len(data["workflows"])


# --- reading and writing as it was written --------------------------------------------------------

_ENTRY = re.compile(r"^workflows:.*\n(?:[ \t]*(?:#.*)?\n)*( *)-( +)", re.MULTILINE)
_INSIDE = re.compile(r"^\w+:[ \t]*(?:#.*)?\n( +)\w", re.MULTILINE)


def written_like(text: str) -> YAML:
    """Return a reader and writer that indents as *text* does."""
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = LIMIT
    entry, inside = _ENTRY.search(text), _INSIDE.search(text)
    dash, gap = (len(entry[1]), len(entry[2])) if entry else (2, 1)
    yaml.indent(mapping=len(inside[1]) if inside else 2, sequence=dash + 1 + gap, offset=dash)
    yaml.explicit_start = text.startswith("---")
    return yaml


def load(yaml: YAML, text: str, path: str) -> CommentedMap:
    """Return *text* with all that a person put into it."""
    try:
        data: CommentedMap = yaml.load(text.replace("\r\n", "\n"))
    except YAMLError as error:
        raise DocumentError(
            f"ruamel.yaml cannot read it ({type(error).__name__})",
            hint="write it more plainly: `flow registry check` may tell where",
            place=path,
        ) from error
    return data


def dump(yaml: YAML, data: CommentedMap, like: str) -> str:
    """Return *data* as text, with the line ends that *like* has."""
    stream = io.StringIO()
    yaml.dump(data, stream)
    text = stream.getvalue()
    return text.replace("\n", "\r\n") if "\r\n" in like else text
