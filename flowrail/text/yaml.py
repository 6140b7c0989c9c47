"""Read YAML strictly, with the line of every value, and write it.

PyYAML parses. On top of it, plain scalars mean what the core schema of YAML 1.2 says: `on`, `yes`,
`12:30`, `2024-01-01` and `1_000` are text. Anchors, aliases, tags, duplicate keys and documents beyond
`text.limits` are refused with their line.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from flowrail.errors import DocumentError
from flowrail.text import size_limits
from flowrail.text.safe_text import decode, hides, shortened

Path = tuple[str | int, ...]


class YamlError(DocumentError):
    """The text is not YAML."""

    code = "YAML_SYNTAX"


class YamlRefusedError(YamlError):
    """The text is YAML, but uses something that flowrail does not accept."""

    code = "YAML_REFUSED"


class YamlProblem(NamedTuple):
    """A value that is not accepted, in a document that can be read without it."""

    line: int
    fact: str
    hint: str
    is_duplicate: bool = False


class Document(NamedTuple):
    """Plain data, and the line and column of each value.

    `places` and `columns` give 1-based numbers by path. The position of a mapping's entry is that of its key.
    `problems` are the values that were left out, if the reader asked for all of them.
    """

    value: object
    places: Mapping[Path, int]
    source: str
    columns: Mapping[Path, int] = {}
    problems: Sequence[YamlProblem] = ()

    def line(self, path: Sequence[str | int]) -> int:
        """Return the line of *path*, or of its nearest ancestor in the document."""
        return self.position(path)[0]

    def position(self, path: Sequence[str | int]) -> tuple[int, int]:
        """Return the line and the column of *path*, or of its nearest ancestor in the document."""
        ancestors = (tuple(path[:length]) for length in range(len(path), -1, -1))
        nearest = next((ancestor for ancestor in ancestors if ancestor in self.places), ())
        return self.places.get(nearest, 1), self.columns.get(nearest, 1)

    def place(self, path: Sequence[str | int]) -> str:
        """Return the position of *path*, as in `workflow.yaml:12`."""
        return f"{self.source}:{self.line(path)}"


def load(data: bytes | str, *, source: str, plain_text: bool = False, all_problems: bool = False) -> Document:
    """Return the one document in *data*; the value of an empty document is None.

    With *all_problems*, duplicate keys, dates and numbers that JSON cannot hold are listed instead of refused.

    With *plain_text*, unquoted scalars stay text as written (`1.10`, `true` and `null` too); only an
    absent value is None. Raises `YamlError`, or `NotTextError` if the bytes are not UTF-8.
    """
    size = len(data) if isinstance(data, bytes) else len(data.encode(errors="surrogatepass"))
    if size > size_limits.YAML_BYTES:
        raise YamlRefusedError(
            f"the document is larger than {size_limits.YAML_BYTES} bytes",
            hint="split it, or move long texts to separate files",
            place=source,
        )
    text = decode(data, source=source) if isinstance(data, bytes) else data.removeprefix("\ufeff")
    if separator := _LINE_ENDS.search(text):
        raise YamlRefusedError(
            f"the line separator U+{ord(separator[0]):04X} is not allowed",
            hint="replace it with a normal line break",
            place=f"{source}:{text.count(chr(10), 0, separator.start()) + 1}",
        )
    try:
        reader = _Reader(text, plain_text=plain_text, all_problems=all_problems)
        value = reader.document()
    except _ForbiddenYamlError as refused:
        raise YamlRefusedError(
            refused.fact, hint=refused.hint, place=f"{source}:{_line(refused.event)}"
        ) from None
    except yaml.MarkedYAMLError as error:
        raise _syntax_error(error, source) from None
    except (yaml.YAMLError, ValueError, IndexError) as error:  # PyYAML lets errors of `chr` and `int` through
        fact = f"invalid YAML: {shortened(str(error).partition(chr(10))[0])}"
        raise YamlError(fact, hint="remove control characters and wrong escapes", place=source) from None
    return Document(value, {(): 1, **reader.lines}, source, reader.columns, reader.problems)


def dump(value: object) -> str:
    """Return plain data as YAML that `load` reads back as an equal value; tuples become lists.

    Text that a YAML 1.1 or 1.2 reader could take for another type is quoted. Invisible characters become
    escapes. Raises `YamlError` if `load` would not accept the result.
    """
    text = _dumped(value, unescaped=True)
    if hides(text):
        text = _dumped(value, unescaped=False)
    load(text, source="the data")
    return text


# --- reading

_LINE_ENDS = re.compile("[\x85\u2028\u2029]")  # line breaks for YAML 1.1, but not for an editor
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The scanner of libyaml if PyYAML was built with it."""
_QUOTE = "write the value out, or quote the text"


class _ForbiddenYamlError(Exception):
    """An event of the parser that is valid YAML and not accepted."""

    def __init__(self, event: yaml.Event, fact: str, hint: str) -> None:
        super().__init__(fact)
        self.event = event
        self.fact = fact
        self.hint = hint


class _Reader:
    """Turns the parser's events into plain data and records where they are.

    A value beyond the limits is refused while it is parsed, so that a hostile document cannot use up memory.
    """

    def __init__(self, text: str, *, plain_text: bool, all_problems: bool) -> None:
        self._next: Callable[[], Any] = _LOADER(text).get_event
        self.plain_text = plain_text
        self.all_problems = all_problems
        self.problems: list[YamlProblem] = []
        self.lines: dict[Path, int] = {}
        self.columns: dict[Path, int] = {}
        self._values = 0

    def document(self) -> object:
        """Return the value of the only document; None if the text is empty."""
        self._next()  # the start of the stream
        if isinstance(self._next(), yaml.StreamEndEvent):
            return None
        root = self._next()
        value = self._value(root, ())
        self._next()  # the end of the document
        event = self._next()
        if not isinstance(event, yaml.StreamEndEvent):
            raise yaml.MarkedYAMLError(
                "expected a single document in the stream",
                root.start_mark,
                "but found another document",
                event.start_mark,
            )
        return value

    def _value(self, event: Any, path: Path) -> object:
        self._check(event, path)
        if path not in self.lines:
            self._note(path, event)
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[object] = []
            while not isinstance(item := self._next(), yaml.SequenceEndEvent):
                items.append(self._value(item, (*path, len(items))))
            return items
        text: str = event.value
        if event.style:
            return text
        if self.plain_text:
            return text or None
        try:
            return _plain_scalar(text)
        except ValueError as error:
            self._problem(event, f"`{_short(text)}` {error}", "quote it")
            return None

    def _mapping(self, path: Path) -> dict[str, object]:
        value: dict[str, object] = {}
        while not isinstance(key := self._next(), yaml.MappingEndEvent):
            self._check(key, path)
            if not isinstance(key, yaml.ScalarEvent):
                raise _ForbiddenYamlError(key, "a list or mapping cannot be a key", "use text as the key")
            name = key.value
            if name == "<<" and not key.style:
                raise _ForbiddenYamlError(key, "the merge key `<<` is not allowed", _QUOTE)
            if name in value:
                fact = f"duplicate key `{_short(name)}` (first in line {self.lines[*path, name]})"
                self._problem(key, fact, "remove one of the two", is_duplicate=True)
                self._value(self._next(), (*path, name))
                continue
            self._note((*path, name), key)
            value[name] = self._value(self._next(), (*path, name))
        return value

    def _problem(self, event: Any, fact: str, hint: str, *, is_duplicate: bool = False) -> None:
        if not self.all_problems:
            raise _ForbiddenYamlError(event, fact, hint) from None
        self.problems.append(YamlProblem(_line(event), fact, hint, is_duplicate))

    def _check(self, event: Any, path: Path) -> None:
        if event.anchor:
            kind = "alias" if isinstance(event, yaml.AliasEvent) else "anchor"
            raise _ForbiddenYamlError(event, f"the {kind} `{_short(event.anchor)}` is not allowed", _QUOTE)
        if event.tag:
            raise _ForbiddenYamlError(event, f"the tag `{_short(event.tag)}` is not allowed", _QUOTE)
        self._values += 1
        if self._values > size_limits.VALUES:
            raise _ForbiddenYamlError(event, f"more than {size_limits.VALUES} values", "split the document")
        if len(path) >= size_limits.DEPTH + isinstance(event, yaml.ScalarEvent):
            raise _ForbiddenYamlError(
                event, f"more than {size_limits.DEPTH} nested levels", "nest less deeply"
            )

    def _note(self, path: Path, event: Any) -> None:
        self.lines[path] = _line(event)
        self.columns[path] = event.start_mark.column + 1 if event.start_mark else 1


def _line(event: yaml.Event) -> int:
    return event.start_mark.line + 1 if event.start_mark else 1


def _short(text: str) -> str:
    return shortened(text, 40)


def _syntax_error(error: yaml.MarkedYAMLError, source: str) -> YamlError:
    # The start of an unclosed quotation helps more than the end of the file.
    unclosed = error.context == "while scanning a quoted scalar"
    mark = error.context_mark if unclosed else error.problem_mark or error.context_mark
    if mark and error.problem == "mapping values are not allowed in this context":
        return YamlError(
            f"a second `: ` in one line (column {mark.column + 1})",
            hint="put the value in quotes, or indent the key below",
            place=f"{source}:{mark.line + 1}",
        )
    problem = f"{error.context}, {error.problem}" if error.context else error.problem
    location = f"{source}:{mark.line + 1}" if mark else source
    column = f" (column {mark.column + 1})" if mark else ""
    return YamlError(
        f"invalid YAML: {problem}{column}", hint="check the quotes, brackets and indentation", place=location
    )


_CONSTANTS = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")


def _plain_scalar(text: str) -> object:
    """Return the value of an unquoted scalar in the core schema; ValueError if JSON could not hold it."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.fullmatch(text):
        if len(text) > size_limits.INTEGER_DIGITS:
            raise ValueError(f"has more than {size_limits.INTEGER_DIGITS} digits")
        return int(text, {"o": 8, "x": 16}.get(text[1:2], 10))
    if _SPECIAL.fullmatch(text) or (_FLOAT.fullmatch(text) and not math.isfinite(float(text))):
        raise ValueError("is not a finite number")
    return float(text) if _FLOAT.fullmatch(text) else text


# --- writing


class _Dumper(yaml.SafeDumper):
    """Writes every value out, long texts as blocks, and quotes texts that a reader could take for another type."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - PyYAML passes it
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str.__str__(text), "|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
_Dumper.add_multi_representer(str, _text)
_Dumper.add_multi_representer(dict, yaml.SafeDumper.represent_dict)
for _number in (_INTEGER, _FLOAT):
    _Dumper.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(rf"(?:{_number.pattern})\Z"), None)


def _dumped(value: object, *, unescaped: bool) -> str:
    return yaml.dump(value, Dumper=_Dumper, allow_unicode=unescaped, sort_keys=False, width=1000)
