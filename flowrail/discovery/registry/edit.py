"""Edit the text of the registry with ruamel.yaml, so that comments, order and quotes stay as they are."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import zip_longest
from typing import Any, NamedTuple

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.constructor import RoundTripConstructor
from ruamel.yaml.nodes import ScalarNode
from ruamel.yaml.representer import RoundTripRepresenter
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from flowrail.command import Command, Hint
from flowrail.discovery.candidate import Candidate
from flowrail.errors import DocumentError
from flowrail.text import limits
from flowrail.text.yaml import Document, Path

_TOP = ("version", "description", "categories", "input_requirements", "output_types")
_HANDOFF = ("accepts_from", "provides_to", "schema_version", "schema_type")
_META = (("duration", "estimated_duration"), ("complexity", "complexity"), ("autonomous", "autonomous"))


def append(items: Any, entry: CommentedMap) -> None:
    """Add an entry on lines of its own."""
    items.append(entry)
    items.fa.set_block_style()


def entry_of(candidate: Candidate, path: str) -> CommentedMap:
    """Return a new entry for a skill."""
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


class EntryField(NamedTuple):
    """A field of an entry: the candidate's field, the mapping that holds it, and its key there."""

    field: str
    mapping: CommentedMap
    key: str

    @property
    def value(self) -> object:
        """The value in the registry, or `None`."""
        return plain(self.mapping.get(self.key))

    def put(self, value: object) -> None:
        """Write a value. The order and the comments of a list stay, as far as its entries do."""
        _set(self.mapping, self.key, value)


def fields_of(item: CommentedMap) -> list[EntryField]:
    """Return the fields of an entry that a sync may write."""
    meta, block = item.get("meta", CommentedMap()), item.get("handoff", CommentedMap())
    return [
        *(EntryField(field, item, field) for field in _TOP),
        *(EntryField(field, block, field) for field in _HANDOFF),
        *(EntryField(field, meta, key) for field, key in _META),
    ]


def keep_parts(item: CommentedMap, fields: Iterable[EntryField]) -> None:
    """Add the mappings `handoff` and `meta` to an entry if a field was written into a new one."""
    for entry in fields:
        for key, names in (("handoff", _HANDOFF), ("meta", tuple(key for _, key in _META))):
            if entry.mapping and entry.mapping is not item and entry.key in names and key not in item:
                item[key] = entry.mapping


def plain(value: object) -> object:
    """Return a value without the marks of ruamel.yaml, as JSON can hold it."""
    if isinstance(value, list | tuple):
        return [plain(entry) for entry in value]
    return str(value) if isinstance(value, str) else value


def _put(mapping: CommentedMap, key: str, value: object) -> None:
    if value not in (None, "", ()):
        _set(mapping, key, value)


def _set(mapping: CommentedMap, key: str, value: object) -> bool:
    """Set *key* to *value*. A list with the same entries stays as it is, in any order."""
    known = mapping.get(key)
    if not isinstance(value, tuple):
        if known == value:
            return False
        mapping[key] = _quoted(value) if isinstance(value, str) else value
        return True
    if key not in mapping:
        known = mapping[key] = CommentedSeq()
    gone = [place for place, entry in enumerate(known) if entry not in value]
    new = [entry for entry in value if entry not in known]
    for place in reversed(gone):
        del known[place]
    known.extend(map(_quoted, new))
    return bool(gone or new)


def _quoted(text: str) -> DoubleQuotedScalarString:
    quoted: DoubleQuotedScalarString = DoubleQuotedScalarString(text)
    return quoted


def miscounted(value: Any) -> bool:
    """Whether `total_workflows` in the *value* of a registry is wrong."""
    declared = value.get("meta", {}).get("total_workflows")
    return declared is not None and declared != len(value["workflows"])


def put_date(data: CommentedMap, now: datetime) -> None:
    """Write the date, and the number of workflows."""
    moment = _quoted(now.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"))
    meta = data.setdefault("meta", CommentedMap())
    data["updated_at"] = meta["last_scan"] = moment
    meta["total_workflows"] = len(data["workflows"])


# --- reading and writing as it was written --------------------------------------------------------


class _AsWritten(str):
    """A number or a date as it is written: ruamel.yaml would write some of them differently."""

    __slots__ = ("tag",)
    tag: str


class _Constructor(RoundTripConstructor):
    """Reads numbers and dates as they are written."""

    def as_written(self, node: ScalarNode) -> _AsWritten:
        """Return the text of *node* with its tag."""
        text = _AsWritten(node.value)
        text.tag = str(node.tag)
        return text


class _Representer(RoundTripRepresenter):
    """Writes numbers and dates as they were written."""

    def as_written(self, text: _AsWritten) -> ScalarNode:
        """Return *text* as a node that needs no quotes."""
        node: ScalarNode = self.represent_scalar(text.tag, str(text))
        return node


for _kind in ("int", "float", "timestamp"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_kind}", _Constructor.as_written)
_Representer.add_representer(_AsWritten, _Representer.as_written)

_ENTRY = re.compile(r"^workflows:.*\n(?:[ \t]*(?:#.*)?\n)*( *)-( +)", re.MULTILINE)
_BEGUN = re.compile(r"(?:[ \t]*+(?:#.*+)?\n)*+---[ \t]*+(?:#.*+)?\n")
_ENDED = re.compile(r"^\.\.\.(?=\s|\Z)", re.MULTILINE)
_INSIDE = re.compile(r"^\w+:[ \t]*(?:#.*)?\n( +)\w", re.MULTILINE)


def written_like(text: str) -> YAML:
    """Return a reader and writer that indents as *text* does."""
    yaml = YAML(typ="rt")
    yaml.Constructor, yaml.Representer = _Constructor, _Representer
    yaml.preserve_quotes = True
    yaml.width = limits.YAML_BYTES
    yaml.explicit_start = _framed(text)[1].startswith("---")  # with something on its line
    entry, inside = _ENTRY.search(text), _INSIDE.search(text)
    dash, gap = (len(entry[1]), len(entry[2])) if entry else (2, 1)
    yaml.indent(mapping=len(inside[1]) if inside else 2, sequence=dash + 1 + gap, offset=dash)
    return yaml


def load(yaml: YAML, text: str, path: str) -> CommentedMap:
    """Return the document in *text*, comments included."""
    try:
        data: CommentedMap = yaml.load(_framed(text)[1])
    except Exception as error:  # errors of its own, and of what it is written with
        raise _not_plain(f"ruamel.yaml cannot read it ({type(error).__name__})", path) from error
    return data


def dump(yaml: YAML, data: CommentedMap, like: str, path: str) -> str:
    """Return *data* as text, with the line ends and document marks of *like*."""
    stream = io.StringIO()
    above, _, below = _framed(like)
    try:
        yaml.dump(data, stream)
    except Exception as error:
        raise _not_plain(f"ruamel.yaml cannot write it ({type(error).__name__})", path) from error
    text = f"{above}{stream.getvalue()}{below}"
    return text.replace("\n", "\r\n") if "\r\n" in like else text


def _framed(text: str) -> tuple[str, str, str]:
    """Return the text before the document's mark, the document, and the text from its end mark.

    ruamel.yaml would drop comments there.
    """
    text = text.replace("\r\n", "\n")
    above, below = _BEGUN.match(text), _ENDED.search(text)
    begin, end = above.end() if above else 0, below.start() if below else len(text)
    return text[:begin], text[begin:end], text[end:]


def refuse_loss(before: Document, after: object) -> None:
    """Raise `DocumentError` if the value *after* lacks or changes what a person wrote *before*."""
    path = _lost(before.value, after, _WRITTEN)
    if path is not None:
        raise _not_plain(f"ruamel.yaml would change `{'.'.join(map(str, path))[:80]}`", before.place(path))


_ENTRY_WRITTEN = {
    **dict.fromkeys(_TOP),
    "handoff": dict.fromkeys(_HANDOFF),
    "meta": dict.fromkeys(key for _, key in _META),
}
_WRITTEN: Mapping[str, object] = {
    "updated_at": None,
    "meta": dict.fromkeys(("last_scan", "total_workflows")),
    "workflows": _ENTRY_WRITTEN,
}
"""The keys that a sync writes; `None` means the whole value. All other keys belong to the user."""
_OWN: Mapping[str, object] = {}


def _lost(before: object, after: object, written: Mapping[str, Any]) -> Path | None:
    """Return the path of a value in *before* that *after* lacks or changes, except for what is *written* by a sync."""
    inside: Iterable[tuple[str | int, object, object, Mapping[str, object] | None]]
    if written and isinstance(before, list) and isinstance(after, list):
        pairs = zip_longest(before, after[: len(before)])
        inside = ((index, *pair, written) for index, pair in enumerate(pairs))
    elif written and isinstance(before, dict) and isinstance(after, dict):
        inside = ((key, value, after.get(key), written.get(key, _OWN)) for key, value in before.items())
    else:
        return None if before == after else ()
    for step, was, is_now, below in inside:
        path = _lost(was, is_now, below) if below is not None else None
        if path is not None:
            return (step, *path)
    return None


def _not_plain(fact: str, path: str) -> DocumentError:
    return DocumentError(fact, hint=Hint("simplify it; see where: ", Command("registry check")), place=path)
