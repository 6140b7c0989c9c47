"""Read the handoff declaration in a skill's frontmatter, leniently and in both dialects.

The older dialect (v2) keeps everything in its `handoff:` block. The newer one (v3) has other keys there and
`categories` beside it. They are distinguished by their keys, never by a version number; if both are present, the newer
one wins, field by field. The block may also be under `metadata.handoff`, as keys or as text that holds YAML, because
the open skill format allows additional keys only there. Values are text as written, so `true` is read here, not by
YAML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.discovery.candidate import ANYONE
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.scan.frontmatter import Frontmatter, read_block
from flowrail.text.safe_text import in_quotes


class Reading(NamedTuple):
    """The declaration of one document, the key of each field, and notes about lenient reading.

    ``declared`` are the values by the name of a candidate's field, without defaults; ``summary`` is the description
    beside the block. ``dialect`` is ``v2``, ``v3`` or ``v2+v3``, and empty if handoffs are not mentioned. ``line`` is
    where the block begins. ``problem`` is an error in the file or in the block, such as broken YAML.
    """

    declared: Mapping[str, Any] = {}
    origins: Mapping[str, str] = {}
    dialect: str = ""
    line: int = 0
    notes: tuple[Note, ...] = ()
    problem: Note | None = None


_TRUE = frozenset({"true", "yes", "on", "y"})
_FALSE = frozenset({"false", "no", "off", "n"})
_NULL = frozenset({"", "~", "null"})

Path = tuple[str, ...]


class _Field(NamedTuple):
    """A field, its key in either dialect, its form, and whether the new key may be beside the block."""

    name: str
    new: str
    old: str
    form: str
    beside: bool = False


class _Mapping(NamedTuple):
    """A mapping that may contain fields, and its path in the document."""

    path: Path
    values: Mapping[str, object]


class _Value(NamedTuple):
    """A value in its expected form, or `None` if it has another one, and its key."""

    path: Path
    value: Any


_TOP = (("name", "name"), ("summary", "description"), ("version", "version"))
META = (("duration", "estimated_duration"), ("complexity", "complexity"), ("autonomous", "autonomous"))
"""The fields below `meta`, each with its key."""
FIELDS = (
    _Field("accepts_from", "accepts_from", "accepts_handoff", "skills"),
    _Field("provides_to", "provides_to", "", "names"),
    _Field("categories", "categories", "handoff_categories", "names", beside=True),
    _Field("description", "", "handoff_description", "text"),
    _Field("trigger", "", "handoff_trigger", "text"),
    _Field("schema_version", "schema_version", "protocol_version", "text"),
    _Field("schema_type", "schema_type", "", "text"),
    _Field("requires", "", "requires", "names"),
    _Field("optional_consumes", "", "optional_consumes", "names"),
    _Field("input_requirements", "input_requirements", "", "names", beside=True),
    _Field("output_types", "output_types", "", "names", beside=True),
    _Field("health_check", "", "health_check", "text"),
)
"""Every field with its key in either dialect."""
_KNOWN = {"meta"}.union(*({field.new, field.old} for field in FIELDS))


def read_metadata(front: Frontmatter, file: str) -> Reading:
    """Return the declaration in *front*, the frontmatter of *file*. Invalid values become notes."""
    return _DeclarationReader(front, file).read()


class _DeclarationReader:
    """Reads one frontmatter and collects notes about it."""

    def __init__(self, front: Frontmatter, file: str) -> None:
        self._front = front
        self._file = file
        self._declared: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        self._notes: list[Note] = list(front.notes)
        self._problem = front.problem
        self._forms: dict[str, Callable[[Path, object], object]] = {
            "text": self._text,
            "names": self._names,
            "skills": self._skills,
            "truth": self._truth,
        }

    def read(self) -> Reading:
        top = _Mapping((), self._front.values)
        metadata = top.values.get("metadata")
        below = _Mapping(("metadata",), metadata if isinstance(metadata, dict) else {})
        for name, key in _TOP:
            self._declare(name, self._value((top, below) if name == "version" else (top,), key, "text"))
        blocks = tuple(self._blocks(top, below))
        line, dialects = 0, set[str]()
        if blocks:
            line = self._front.line(*blocks[0].path)
            dialects = {used for field in FIELDS for used in self._field(field, top, blocks, below)}
            self._meta(top, *blocks, below)
            self._unknown_keys(blocks)
        dialect = "+".join(sorted(dialects))
        return Reading(self._declared, self._origins, dialect, line, tuple(self._notes), self._problem)

    def _blocks(self, *tops: _Mapping) -> Iterator[_Mapping]:
        for top in tops:
            if "handoff" not in top.values:
                continue
            path, value = (*top.path, "handoff"), top.values["handoff"]
            if isinstance(value, str) and top.path:
                line = self._front.line(*path)  # a block text begins on the next line
                front = read_block(value, self._file, line if "\n" in value else max(line - 1, 0))
                self._notes.extend(front.notes)
                if front.problem:
                    reason = f"`{'.'.join(path)}` cannot be read: {front.problem.reason}"
                    line = front.problem.line if "\n" in value else line
                    self._problem = front.problem._replace(code="INVALID_HANDOFF", reason=reason, line=line)
                    continue
                value = dict(front.values)
            if isinstance(value, dict):
                yield _Mapping(path, value)
            else:
                self._note("HANDOFF_NOT_MAPPING", f"is {_type_of(value)}, not a mapping; it is ignored", path)

    def _field(
        self, field: _Field, top: _Mapping, blocks: tuple[_Mapping, ...], below: _Mapping
    ) -> Iterator[str]:
        """Declare the value of the newer dialect, or else of the older one; yield the dialects that were used."""
        noted = len(self._notes)
        new = self._value((top, *blocks, below) if field.beside else blocks, field.new, field.form)
        old = self._value(blocks, field.old, "truth" if field.old == "accepts_handoff" else field.form)
        if old and isinstance(old.value, bool):
            old = old._replace(value=(ANYONE,) if old.value else ())
        if new:
            yield "v3"
        if old:
            yield "v2"
        if new and old and _differ(new.value, old.value):
            self._note("DIALECTS_DISAGREE", f"differs from `{'.'.join(new.path)}`, which is used", old.path)
        used = old if old and (new is None or new.value is None) else new
        if field.name == "accepts_from" and used and used.value is None and len(self._notes) > noted:
            self._problem = self._notes[noted]._replace(code="INVALID_ACCEPTANCE")
            del self._notes[noted:]
        self._declare(field.name, used)

    def _meta(self, *mappings: _Mapping) -> None:
        metas = [(mapping.path, mapping.values.get("meta")) for mapping in mappings]
        inner = [_Mapping((*path, "meta"), values) for path, values in metas if isinstance(values, dict)]
        for name, key in META:
            self._declare(name, self._value(inner, key, "truth" if name == "autonomous" else "text"))

    def _unknown_keys(self, blocks: tuple[_Mapping, ...]) -> None:
        for block in blocks:
            for key in block.values:
                if key not in _KNOWN:
                    self._note("UNKNOWN_KEY", "is not a key of either dialect", (*block.path, key))

    def _value(self, mappings: Sequence[_Mapping], key: str, form: str) -> _Value | None:
        """Return the value of *key* in the first of *mappings* that has it."""
        for mapping in mappings:
            if key and key in mapping.values:
                path = (*mapping.path, key)
                return _Value(path, self._forms[form](path, mapping.values[key]))
        return None

    def _declare(self, name: str, value: _Value | None) -> None:
        if value and value.value is not None:
            self._declared[name] = value.value
            self._origins[name] = ".".join(value.path)

    def _text(self, path: Path, value: object) -> str | None:
        if value is None or isinstance(value, str):
            text = (value or "").strip()
            return None if text.lower() in _NULL else text
        self._note("INVALID_FIELD", f"is {_type_of(value)}; expected text", path)
        return None

    def _truth(self, path: Path, value: object) -> bool | None:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in _TRUE | _FALSE:
            written = f"`{in_quotes(value)}`" if isinstance(value, str) else _type_of(value)
            self._note("INVALID_FIELD", f"is {written}; expected `true` or `false`", path)
            return None
        if word not in {"true", "false"}:
            self._note("LOOSE_BOOLEAN", f"is `{in_quotes(word)}`, which not every reader accepts", path)
        return word in _TRUE

    def _names(self, path: Path, value: object) -> tuple[str, ...] | None:
        if isinstance(value, list):
            texts = [item.strip() for item in value if isinstance(item, str)]
            if len(texts) < len(value):
                self._note("INVALID_FIELD", "contains an entry that is not text; it is ignored", path)
            return tuple(dict.fromkeys(filter(None, texts)))
        text = self._text(path, value)
        if text is None:
            return None
        self._note("NOT_A_LIST", "is text, not a list", path)
        return tuple(dict.fromkeys(_parts(text)))

    def _skills(self, path: Path, value: object) -> tuple[str, ...] | None:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in _TRUE | _FALSE | {"none"}:
            self._note("NOT_A_LIST", "is not a list of skills", path)
            return (ANYONE,) if word in _TRUE else ()
        return self._names(path, value)

    def _note(self, code: str, reason: str, path: Path) -> None:
        self._notes.append(
            Note(code, f"`{in_quotes('.'.join(path))}` {reason}", self._file, self._front.line(*path))
        )


def _type_of(value: object) -> str:
    """Return the type of a YAML value in words."""
    names: Mapping[type, str] = {str: "text", list: "a list", dict: "a mapping", type(None): "empty"}
    return names.get(type(value), "another type")


def _differ(new: tuple[str, ...] | str | None, old: tuple[str, ...] | str | None) -> bool:
    if isinstance(new, tuple) and old in {(), (ANYONE,)}:
        return bool(new) != bool(old)
    return None not in {new, old} and new != old


def _parts(text: str) -> Iterator[str]:
    """Yield the name in *text*, or the names if *text* is a list."""
    if not text.startswith("["):
        yield text
        return
    for part in text.strip("[]").split(","):
        if name := part.strip().strip("\"'"):
            yield name
