"""What a skill's frontmatter declares about taking over work, read leniently in both dialects.

The older dialect (v2) keeps everything in its `handoff:` block. The newer one (v3) has other keys there and
`categories` beside it. They are distinguished by their keys, never by a version number; if both are present, the
newer one wins, field by field. The block may also be under `metadata.handoff`, as keys or as text that holds YAML,
because the open skill format allows no other place. Values are text as written, so `true` is read here, not by YAML.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from flowrail.discovery.candidate import ANYONE
from flowrail.discovery.diagnostics import Note
from flowrail.discovery.scan.frontmatter import Frontmatter, read_block
from flowrail.text.safe_text import in_quotes


class DeclaredMetadata(NamedTuple):
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

    declared: DeclaredMetadata = DeclaredMetadata()
    origins: Mapping[str, str] = {}
    dialect: str = ""
    line: int = 0
    notes: tuple[Note, ...] = ()


class SkillFile(NamedTuple):
    """A SKILL.md as read; ``problem`` says why nothing could be, where that is so."""

    reading: Reading
    problem: Note | None = None


_TRUE = frozenset({"true", "yes", "on", "y"})
_FALSE = frozenset({"false", "no", "off", "n"})
_PROSE = frozenset({"description", "handoff_description"})
_NULL = frozenset({"", "~", "null"})

LONGEST_TEXT, MOST_NAMES, LONGEST_NAME = 4_000, 100, 200
"""What is kept of a text, of a list of names, and of a name: more is told as odd."""

Path = tuple[str, ...]


class _Field(NamedTuple):
    """A field, its key in either dialect, its form, and whether the new key stands beside the block."""

    name: str
    new: str
    old: str
    form: str
    beside: bool = False


class _Place(NamedTuple):
    """A mapping to look in, and its path in the document."""

    path: Path
    values: Mapping[str, object]


class _Said(NamedTuple):
    """A value in its proper form, or None where it has none, and the key it stands under."""

    path: Path
    value: Any


_TOP = (("name", "name"), ("summary", "description"), ("version", "version"))
_META = (("duration", "estimated_duration"), ("complexity", "complexity"), ("autonomous", "autonomous"))
_FIELDS = (
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
_KNOWN = {"meta"}.union(*({field.new, field.old} for field in _FIELDS))


def declared_fields() -> Sequence[_Field]:
    """Return every field with its key in either dialect."""
    return _FIELDS


def declared_meta() -> Sequence[tuple[str, str]]:
    """Return the fields that stand below `meta`, each with its key."""
    return _META


def read_metadata(front: Frontmatter, file: str) -> Reading:
    """Return what *front*, the frontmatter of *file*, declares; nothing in it is an error."""
    return _DeclarationReader(front, file).read()


class _DeclarationReader:
    """Reads one frontmatter and collects what was odd about it."""

    def __init__(self, front: Frontmatter, file: str) -> None:
        self._front = front
        self._file = file
        self._found: dict[str, Any] = {}
        self._origins: dict[str, str] = {}
        self._notes: list[Note] = list(front.notes)
        self._forms: dict[str, Callable[[Path, object], object]] = {
            "text": self._text,
            "names": self._names,
            "skills": self._skills,
            "truth": self._truth,
        }

    def read(self) -> Reading:
        top = _Place((), self._front.values)
        metadata = top.values.get("metadata")
        below = _Place(("metadata",), metadata if isinstance(metadata, dict) else {})
        for name, key in _TOP:
            self._keep(name, self._say((top, below) if name == "version" else (top,), key, "text"))
        blocks = tuple(self._blocks(top, below))
        line, dialects = 0, set[str]()
        if blocks:
            line = self._front.line(*blocks[0].path)
            dialects = {each for field in _FIELDS for each in self._field(field, top, blocks, below)}
            self._meta(top, *blocks, below)
            self._strangers(blocks)
        dialect = "+".join(sorted(dialects))
        return Reading(DeclaredMetadata(**self._found), self._origins, dialect, line, tuple(self._notes))

    def _blocks(self, *tops: _Place) -> Iterator[_Place]:
        for top in tops:
            if "handoff" not in top.values:
                continue
            path, value = (*top.path, "handoff"), top.values["handoff"]
            if isinstance(value, str) and top.path:
                line = self._front.line(*path)  # a text of lines begins on the next one
                front = read_block(value, self._file, line if "\n" in value else max(line - 1, 0))
                self._notes.extend(front.notes)
                value = None if front.problem else dict(front.values)
            if isinstance(value, dict):
                yield _Place(path, value)
            else:
                self._note("HANDOFF_NOT_MAPPING", "is no mapping, so it is passed over", path)

    def _field(self, field: _Field, top: _Place, blocks: tuple[_Place, ...], below: _Place) -> Iterator[str]:
        """Keep what is said in the newer dialect, else in the older one; yield those that were used."""
        new = self._say((top, *blocks, below) if field.beside else blocks, field.new, field.form)
        old = self._say(blocks, field.old, "truth" if field.old == "accepts_handoff" else field.form)
        if old and isinstance(old.value, bool):
            old = old._replace(value=(ANYONE,) if old.value else ())
        if new:
            yield "v3"
        if old:
            yield "v2"
        if new and old and _differ(new.value, old.value):
            self._note(
                "DIALECTS_DISAGREE",
                f"says something else than `{'.'.join(new.path)}`, which counts",
                old.path,
            )
        self._keep(field.name, new if new and new.value is not None else old)

    def _meta(self, *places: _Place) -> None:
        metas = [(place.path, place.values.get("meta")) for place in places]
        inner = [_Place((*path, "meta"), values) for path, values in metas if isinstance(values, dict)]
        for name, key in _META:
            self._keep(name, self._say(inner, key, "truth" if name == "autonomous" else "text"))

    def _strangers(self, blocks: tuple[_Place, ...]) -> None:
        for block in blocks:
            for key in block.values:
                if key not in _KNOWN:
                    self._note("UNKNOWN_KEY", "is not a key of either dialect", (*block.path, key))

    def _say(self, places: Sequence[_Place], key: str, form: str) -> _Said | None:
        """Return what the first of *places* that has *key* says there."""
        for place in places:
            if key and key in place.values:
                path = (*place.path, key)
                return _Said(path, self._forms[form](path, place.values[key]))
        return None

    def _keep(self, name: str, said: _Said | None) -> None:
        if said and said.value is not None:
            self._found[name] = said.value
            self._origins[name] = ".".join(said.path)

    def _text(self, path: Path, value: object) -> str | None:
        if value is None or isinstance(value, str):
            text = (value or "").strip()
            if len(text) > LONGEST_TEXT:
                prose = path[-1] in _PROSE  # a command that was cut would be another one
                told = f"the first {LONGEST_TEXT} count" if prose else "it is passed over"
                self._note("INVALID_FIELD", f"has {len(text)} characters: {told}", path)
                text = text[:LONGEST_TEXT] if prose else ""
            return None if text.lower() in _NULL else text
        self._note("INVALID_FIELD", "is no text", path)
        return None

    def _truth(self, path: Path, value: object) -> bool | None:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in _TRUE | _FALSE:
            self._note("INVALID_FIELD", "is neither `true` nor `false`", path)
            return None
        if word not in {"true", "false"}:
            self._note(
                "LOOSE_BOOLEAN",
                f"is `{in_quotes(word)}`, which not every reader takes for a truth value",
                path,
            )
        return word in _TRUE

    def _names(self, path: Path, value: object) -> tuple[str, ...] | None:
        if isinstance(value, list):
            texts = [each.strip() for each in value if isinstance(each, str)]
            if len(texts) < len(value):
                self._note("INVALID_FIELD", "holds an entry that is no text", path)
            return self._counting(path, texts)
        text = self._text(path, value)
        if text is None:
            return None
        self._note("NOT_A_LIST", "is a text, not a list", path)
        return self._counting(path, list(_parts(text)))

    def _counting(self, path: Path, texts: list[str]) -> tuple[str, ...]:
        """Return the names among *texts*, each once, as far as they are few and short enough."""
        names = dict.fromkeys(filter(None, texts))
        fitting = [each for each in names if len(each) <= LONGEST_NAME][:MOST_NAMES]
        if len(fitting) < len(names):
            told = f"has {len(names)} names; at most {MOST_NAMES} of up to {LONGEST_NAME} characters count"
            self._note("INVALID_FIELD", told, path)
        return tuple(fitting)

    def _skills(self, path: Path, value: object) -> tuple[str, ...] | None:
        word = value.strip().lower() if isinstance(value, str) else ""
        if word in _TRUE | _FALSE | {"none"}:
            self._note("NOT_A_LIST", "is no list of skills", path)
            return (ANYONE,) if word in _TRUE else ()
        return self._names(path, value)

    def _note(self, code: str, reason: str, path: Path) -> None:
        self._notes.append(
            Note(code, f"`{in_quotes('.'.join(path))}` {reason}", self._file, self._front.line(*path))
        )


def _differ(new: tuple[str, ...] | str | None, old: tuple[str, ...] | str | None) -> bool:
    if isinstance(new, tuple) and old in {(), (ANYONE,)}:
        return bool(new) != bool(old)
    return None not in {new, old} and new != old


def _parts(text: str) -> Iterator[str]:
    """Yield the one name that *text* is, or those of a list that stands in it as text."""
    if not text.startswith("["):
        yield text
        return
    for part in text.strip("[]").split(","):
        if name := part.strip().strip("\"'"):
            yield name
