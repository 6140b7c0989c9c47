"""The door to PyYAML: bounded reading of documents that strangers wrote, and writing of our own.

Only PyYAML's event stream is used; values are built here. So nothing is constructed that the
document asks for, every bound holds while the text streams by, and plain scalars mean what YAML
1.2 says (its core schema): ``on``, ``yes``, ``12:30``, ``2024-01-01`` and ``1_000`` are text.
What makes a document mean more than it shows is refused, each with its line: anchors, aliases,
tags, merge keys, directives, a second document, a key that stands twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from flowrail.errors import DocumentError
from flowrail.text.finite import is_finite
from flowrail.text.safe_text import HIDDEN

Path = tuple[str | int, ...]
_SHOWN = 40  # characters of the document's own that a message quotes


class YamlError(DocumentError):
    """The text is not YAML."""

    code = "YAML_SYNTAX"


class YamlRefused(YamlError):  # noqa: N818 - not a mistake in the YAML: a thing that we do not take
    """The text is YAML, or may be, but holds something that is not taken here."""

    code = "YAML_REFUSED"


class Limits(NamedTuple):
    """How much a document may ask of us; a mapping's keys count as nodes."""

    bytes: int = 1_000_000
    depth: int = 32
    nodes: int = 20_000
    scalar: int = 262_144


LIMITS = Limits()


class Document(NamedTuple):
    """Plain data, and where each piece of it stands.

    ``places`` gives 1-based lines by path; an entry of a mapping stands where its key does.
    """

    value: object
    places: Mapping[Path, int]
    source: str

    def line(self, path: Sequence[str | int]) -> int:
        """Return the line of *path*, or of its nearest ancestor that the document has."""
        known = (self.places.get(tuple(path[:length])) for length in range(len(path), -1, -1))
        return next((line for line in known if line is not None), 1)

    def place(self, path: Sequence[str | int]) -> str:
        """Return where *path* stands, as in ``workflow.yaml:12``."""
        return f"{self.source}:{self.line(path)}"


def load(data: bytes | str, *, source: str, limits: Limits = LIMITS, plain_text: bool = False) -> Document:
    """Return the one document in *data*; an empty one has the value None.

    With *plain_text* a scalar without quotes stays text just as it is written (``1.10``, ``true``,
    ``null`` and ``~`` too); only where nothing is written at all the value is None. Whatever is
    wrong is raised as `YamlError`, no matter how *data* was made.
    """
    text = _text(data, source, limits)
    builder = _Builder(source, limits, plain_text=plain_text)
    for event in _events(text, source):
        builder.take(event)
    return Document(builder.value, builder.places, source)


def dump(value: object, *, limits: Limits = LIMITS) -> str:
    """Return plain data as YAML that `load` reads back equal (a tuple comes back as a list).

    Text that any YAML reader, of 1.1 too, could take for something else is quoted, and characters that
    hide or reorder are escapes. What `load` would not read back is refused: sizes beyond *limits*,
    numbers too large, lone surrogates. Data that is not plain, or a mapping key that is no text, is a bug
    of the caller and raises TypeError.
    """
    text = _Writer(limits).document(value)
    _check_size(text, "the data", limits)
    return text


# --- from bytes to text that is safe to parse ---------------------------------------------------

_BREAK = re.compile(r"\r\n|\r|\n")
# Controls, the line ends that only YAML 1.1 knows, surrogates, byte order marks, no characters.
_UNWANTED = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
_DIRECTIVE = re.compile(r"(?:[ \t]*+(?:#[^\r\n]*+)?(?:\r\n|\r|\n))*+%")
_SURROGATE = re.compile("[\ud800-\udfff]")


def _text(data: bytes | str, source: str, limits: Limits) -> str:
    _check_size(data, source, limits)
    text = _decode(data, source) if isinstance(data, bytes) else data
    text = text.removeprefix("\ufeff")
    if found := _UNWANTED.search(text):
        raise YamlRefused(
            f"the character U+{ord(found[0]):04X} stands in the text",
            hint=f'remove it, or write "\\u{ord(found[0]):04X}" between double quotes',
            place=f"{source}:{_line(text, found.start())}",
        )
    if found := _DIRECTIVE.match(text):
        raise YamlRefused(
            "a line that begins with `%` is a directive",
            hint="remove the line, or quote the text",
            place=f"{source}:{_line(text, found.end())}",
        )
    return text


def _check_size(data: bytes | str, source: str, limits: Limits) -> None:
    size = len(data)
    if isinstance(data, str) and size <= limits.bytes and not data.isascii():
        size = len(data.encode("utf-8", "surrogatepass"))
    if size > limits.bytes:
        raise YamlRefused(
            f"the document has more than {limits.bytes} bytes",
            hint="split it, or move long texts to files of their own",
            place=source,
            limit=limits.bytes,
        )


def _decode(data: bytes, source: str) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise YamlRefused("the file is UTF-16 or UTF-32", hint="save it as UTF-8", place=f"{source}:1")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise YamlError(
            f"byte 0x{data[error.start]:02X} is not UTF-8",
            hint="save the file as UTF-8",
            place=f"{source}:{_line(before, len(before))}",
        ) from None


def _line(text: str, index: int) -> int:
    return 1 + sum(1 for _ in _BREAK.finditer(text, 0, index))


# --- from text to events ------------------------------------------------------------------------

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# PyYAML and libyaml word their findings differently, and for people who know the grammar. The
# first of these pieces that occurs in theirs gives our words: a fact, and what to do about it.
_ESCAPE = ("an escape that YAML does not have", "double the backslash, or use single quotes")
_CROOKED = ("a line that does not fit those around it", "indent entries of one level alike")
_UNCLOSED = ("quotes that are not closed before the document ends", "close them")
_FACTS = {
    "mapping values": ("a `: ` where no key can be", "quote a text that holds `: `; indent a level alike"),
    "any token": ("a character that cannot begin a value", "quote the value; indent with spaces"),
    "tab character": ("a tab in the indentation", "indent with spaces"),
    "sequence entries": ("a `- ` where no list can be", "begin the list on a line of its own"),
    "end of stream": ("quotes that are never closed", "close them"),
    "document indicator": _UNCLOSED,
    "document separator": _UNCLOSED,
    "' or '": ("a bracket that is not closed, or a comma that is missing", "close it with `]` or `}`"),
    "escape": _ESCAPE,
    "hexdecimal": _ESCAPE,
    "expected ':'": ("a line that is no `key: value`", "write `key: value`, or indent it under its key"),
    "block end": _CROOKED,
    "expected key": _CROOKED,
    "'-' indicator": _CROOKED,
    "document start": ("text after the end of the document", "indent entries of one level alike"),
    "": ("no YAML from here on", "look at quotes, brackets and indentation here and just above"),
}
_BEGUN = ("while scanning a quoted scalar", "while scanning a simple key")


def _events(text: str, source: str) -> Iterator[yaml.Event]:
    try:
        yield from yaml.parse(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, source) from None
    except Exception as error:  # its scanner lets errors of `chr`, `int` and lists through
        raise YamlError(
            f"PyYAML cannot read it ({type(error).__name__})",
            hint="look for escapes such as `\\U` with too large a number",
            place=source,
        ) from error


def _syntax_error(error: yaml.MarkedYAMLError, source: str) -> YamlError:
    problem = str(error.problem)
    fact, hint = next(words for piece, words in _FACTS.items() if piece in problem)
    # Where a quoted text or a key began tells more than where the hope for its end was given up.
    marks = (error.problem_mark, error.context_mark)
    mark = next(filter(None, reversed(marks) if error.context in _BEGUN else marks), None)
    if mark is None:
        return YamlError(fact, hint=hint, place=source)
    column = mark.column + 1
    return YamlError(f"{fact} (column {column})", hint=hint, place=f"{source}:{mark.line + 1}", column=column)


# --- from events to values ----------------------------------------------------------------------


class _Open(NamedTuple):
    """A collection whose end has not come yet."""

    container: dict[str, object] | list[object]
    path: Path


class _Builder:
    """Takes events, keeps the collections that are still open, and judges each node as it comes."""

    def __init__(self, source: str, limits: Limits, *, plain_text: bool) -> None:
        self.value: object = None
        self.places: dict[Path, int] = {(): 1}
        self._source = source
        self._limits = limits
        self._resolve = _as_written if plain_text else _core
        self._open: list[_Open] = []
        self._key: str | None = None
        self._nodes = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        match event:
            case yaml.AliasEvent():
                raise self._refused(
                    event, f"`*{_shown(event.anchor)}` refers to an anchor", "write the value out"
                )
            case yaml.ScalarEvent():
                self._scalar(event)
            case yaml.MappingStartEvent():
                self._start(event, {})
            case yaml.SequenceStartEvent():
                self._start(event, [])
            case yaml.CollectionEndEvent():
                self._open.pop()
            case yaml.DocumentStartEvent():
                self._documents += 1
                if self._documents > 1:
                    raise self._refused(event, "a second document begins", "keep one document in one file")

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        self._admit(event)
        text: str = event.value
        if len(text) > self._limits.scalar:
            raise self._refused(
                event, f"a text of more than {self._limits.scalar} characters", "move it to a file of its own"
            )
        if _SURROGATE.search(text):
            raise self._refused(event, "an escape for half a character", "write the character itself")
        if self._awaits_key():
            self._take_key(event, text)
        elif event.style:
            self._put(event, text)
        else:
            try:
                self._put(event, self._resolve(text))
            except ValueError as error:
                raise self._refused(event, f"`{_shown(text)}` {error}", "put it between quotes") from None

    def _start(self, event: yaml.CollectionStartEvent, container: dict[str, object] | list[object]) -> None:
        self._admit(event)
        if self._awaits_key():
            raise self._refused(event, "a list or mapping as a key", "use a text as the key")
        if len(self._open) >= self._limits.depth:
            raise self._refused(event, f"more than {self._limits.depth} levels", "nest less deeply")
        self._open.append(_Open(container, self._put(event, container)))

    def _admit(self, event: yaml.NodeEvent) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise self._refused(event, f"more than {self._limits.nodes} values", "split the document")
        if event.anchor is not None:
            raise self._refused(
                event, f"`&{_shown(event.anchor)}` is an anchor", "remove it, or quote the text"
            )
        tag = getattr(event, "tag", None)
        if tag is not None:
            raise self._refused(event, f"`{_shown(tag)}` is a tag", "remove it, or quote the text")

    def _awaits_key(self) -> bool:
        return bool(self._open) and self._key is None and isinstance(self._open[-1].container, dict)

    def _take_key(self, event: yaml.ScalarEvent, key: str) -> None:
        if not event.style and key in {"", "<<"}:
            fact = "`<<` merges mappings" if key else "there is no key before the `:`"
            raise self._refused(
                event, fact, "write the entries out" if key else "write one, or quote the text"
            )
        path = (*self._open[-1].path, key)
        line = _line_of(event)
        if path in self.places:
            first = self.places[path]
            fact = f"the key `{_shown(key)}` stands in line {first} and again in line {line}"
            raise self._refused(event, fact, "keep one of the two", key=key, first=first)
        self.places[path] = line
        self._key = key

    def _put(self, event: yaml.Event, value: object) -> Path:
        """Put *value* where the next one belongs and return its path."""
        if not self._open:
            self.value = value
            self.places[()] = _line_of(event)
            return ()
        container, above = self._open[-1]
        if isinstance(container, list):
            path = (*above, len(container))
            self.places[path] = _line_of(event)
            container.append(value)
            return path
        key, self._key = self._key or "", None
        container[key] = value
        return (*above, key)

    def _refused(self, event: yaml.Event, fact: str, hint: str, **details: object) -> YamlRefused:
        place = f"{self._source}:{_line_of(event)}"
        return YamlRefused(fact, hint=hint, place=place, **details)


def _line_of(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _shown(text: str | None) -> str:
    """Return *text* short and printable: it goes into messages."""
    short = (text or "")[:_SHOWN]
    safe = "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in short)
    return safe if short == text else f"{safe}…"


# --- plain scalars ------------------------------------------------------------------------------

_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER = re.compile(
    r"(?P<decimal>[-+]?[0-9]++)"
    r"|0o(?P<octal>[0-7]++)"
    r"|0x(?P<hex>[0-9a-fA-F]++)"
    r"|(?P<float>[-+]?(?:\.[0-9]++|[0-9]++(?:\.[0-9]*+)?)(?:[eE][-+]?[0-9]++)?)"
    r"|(?P<special>[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))"
)
_BASES = {"decimal": 10, "octal": 8, "hex": 16}
_DIGITS = 19


def _as_written(text: str) -> object:
    return text or None


def _core(text: str) -> object:
    """Return what a plain scalar means in YAML 1.2's core schema; ValueError where it is too large."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    kind = number.lastgroup or ""
    if kind in _BASES:
        return _int(text[0] == "-", number[kind].lstrip("+-0") or "0", _BASES[kind])
    value = float(text) if kind == "float" else float("inf")
    if value in {float("inf"), float("-inf")}:
        raise ValueError("is no finite number")
    return value


def _int(negative: bool, digits: str, base: int) -> int:
    value = int(digits, base) if len(digits) <= 2 * _DIGITS else 10**_DIGITS
    if value >= 10**_DIGITS:
        raise ValueError(f"has more than {_DIGITS} digits")
    return -value if negative else value


# --- writing ------------------------------------------------------------------------------------

# Text may stand without quotes if it begins with a letter, holds nothing that means something, and
# is no word that some reader takes for a value: those of YAML 1.1 too, in any case of letters.
_PLAIN = re.compile(r"[^\W\d_](?:[\w ./@+,()-]*[\w./@+()-])?")
_WORDS = frozenset({"y", "n", "yes", "no", "on", "off", "true", "false", "null", "none"})
_ESCAPED = re.compile(rf'["\\\t\n\r]|{_UNWANTED.pattern}|{HIDDEN}')
_HIDDEN = re.compile(HIDDEN)
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_LAST_SHORT = 0xFFFF
_LONGEST_KEY = 1000  # readers find the `:` of a key within 1024 characters, else it needs a `?`


class _Writer:
    """Writes nodes as lines without their indentation: whoever holds a node indents it."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._nodes = 0

    def document(self, value: object) -> str:
        beside, below = self._node(value, ())
        lines = [beside, *_indented(below)] if beside else below
        return "".join(f"{line}\n" for line in lines)

    def _node(self, value: object, path: Path) -> tuple[str, list[str]]:
        """Return what may stand beside a key or dash, and the lines that stand below it."""
        self._count(path)
        if isinstance(value, str):
            return self._text(str.__str__(value), path)
        if value is None or isinstance(value, bool | int | float):
            return self._constant(value, path), []
        if not isinstance(value, dict | list | tuple):
            raise TypeError(f"{_where(path)} is a {type(value).__name__}, which is no plain data")
        if len(path) >= self._limits.depth:
            raise _unwritable(path, f"more than {self._limits.depth} levels")
        if not value:
            return ("{}" if isinstance(value, dict) else "[]"), []
        return "", self._mapping(value, path) if isinstance(value, dict) else self._sequence(value, path)

    def _mapping(self, value: dict[object, object], path: Path) -> list[str]:
        lines: list[str] = []
        for key, item in value.items():
            if not isinstance(key, str):
                raise TypeError(f"{_where(path)} has a key that is a {type(key).__name__}, not text")
            self._count(path)
            written = self._line(str.__str__(key), path)
            if len(written) > _LONGEST_KEY:
                lines.append(f"? {written}")
                written = ""
            beside, below = self._node(item, (*path, key))
            lines += [f"{written}: {beside}" if beside else f"{written}:", *_indented(below)]
        return lines

    def _sequence(self, value: Sequence[object], path: Path) -> list[str]:
        lines: list[str] = []
        for index, item in enumerate(value):
            beside, below = self._node(item, (*path, index))
            first, rest = (beside, below) if beside else (below[0], below[1:])
            lines += [f"- {first}", *_indented(rest)]
        return lines

    def _text(self, text: str, path: Path) -> tuple[str, list[str]]:
        if _fits_block(text):
            self._check_length(text, path)
            body = text.removesuffix("\n")
            return ("|-" if body == text else "|"), body.split("\n")
        return self._line(text, path), []

    def _line(self, text: str, path: Path) -> str:
        self._check_length(text, path)
        if _SURROGATE.search(text):
            raise _unwritable(path, "half a character (a lone surrogate)", "write it whole, or leave it out")
        if _PLAIN.fullmatch(text) and text.lower() not in _WORDS and not _HIDDEN.search(text):
            return text
        return f'"{_ESCAPED.sub(_escape, text)}"'

    def _constant(self, value: float | None, path: Path) -> str:
        if value is None:
            return "null"
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, int):
            if abs(value) >= 10**_DIGITS:
                raise _unwritable(path, f"a number of more than {_DIGITS} digits")
            return int.__repr__(value)
        if not is_finite(value):
            raise _unwritable(path, "a number that is not finite")
        mantissa, exponent, power = float.__repr__(value).partition("e")
        # `1e+16` is text to a reader of YAML 1.1, `1.0e+16` is not.
        return mantissa + (".0" if exponent and "." not in mantissa else "") + exponent + power

    def _count(self, path: Path) -> None:
        self._nodes += 1
        if self._nodes > self._limits.nodes:
            raise _unwritable(path, f"more than {self._limits.nodes} values")

    def _check_length(self, text: str, path: Path) -> None:
        if len(text) > self._limits.scalar:
            raise _unwritable(path, f"a text of more than {self._limits.scalar} characters")


def _indented(lines: list[str]) -> list[str]:
    return [f"  {line}" if line else "" for line in lines]


def _fits_block(text: str) -> bool:
    """Say whether *text* can stand as a literal block: has lines, and none that a reader would strip."""
    if "\n" not in text or "\r" in text or _UNWANTED.search(text) or _HIDDEN.search(text):
        return False
    lines = text.removesuffix("\n").split("\n")
    blank = (line and not line.strip() for line in lines)
    return lines[0][:1].strip() != "" and lines[-1] != "" and not any(blank)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _ESCAPES.get(found[0]) or (f"\\u{code:04X}" if code <= _LAST_SHORT else f"\\U{code:08X}")


def _where(path: Path) -> str:
    steps = (f"[{step}]" if isinstance(step, int) else f".{_shown(step)}" for step in path)
    return "".join(steps).removeprefix(".") or "the data"


def _unwritable(path: Path, fact: str, hint: str = "shorten or split it before it is written") -> YamlRefused:
    return YamlRefused(fact, hint=hint, place=_where(path))
