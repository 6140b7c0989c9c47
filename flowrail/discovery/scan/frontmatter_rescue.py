"""The keys of a frontmatter that is no YAML as a whole, each read by itself.

A key that is YAML on its own is read as that. One that is not is mended where the intent is plain
(tabs, control characters, halves of a character), then read level by level if it holds more lines,
and else taken as the text that stands there. What is more than text and cannot be read is lost, alone.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from flowrail.discovery.diagnostics import Note
from flowrail.errors import DocumentError, alone
from flowrail.text import yaml as yaml_text
from flowrail.text.safe_text import in_quotes

Path = tuple[str | int, ...]

#: So many keys or entries of one level are read; no honest frontmatter comes near.
MOST = 500
_DEEPEST = 4
_SHOWN = 40

_NO_KEY = frozenset("#-?[]{},&*!|>%@`")
_BREAK = re.compile(r"\r\n|\r|\n")
_LINE_CHARACTER = re.compile("[\x85\u2028\u2029]")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufeff\ufffe\uffff\ud800-\udfff]")
_PAIR = re.compile(r"\\u([dD][89abAB][0-9a-fA-F]{2})\\u([dD][c-fC-F][0-9a-fA-F]{2})")
_HALF = re.compile(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class Read(NamedTuple):
    """A value, and the line of each piece of it by its path."""

    value: Any
    lines: dict[Path, int]


class _Chunk(NamedTuple):
    """Lines that belong together: a key or an entry of a list, and what stands below it."""

    key: str
    beside: str
    line: int
    lines: list[str]


def by_key(text: str, file: str, above: int) -> tuple[Read, list[Note]]:
    """Return the keys at the margin of *text*, above which *above* lines stand in *file*, and notes."""
    reader = _Reader(file)
    return reader.mapping(_BREAK.split(text), above, 0), reader.notes


class _Reader:
    """Reads the pieces of one file and collects what had to be done for them."""

    def __init__(self, file: str) -> None:
        self.notes: list[Note] = []
        self._file = file

    def mapping(self, lines: list[str], above: int, depth: int) -> Read:
        found: list[dict[str, Any]] = []
        places: dict[Path, int] = {}
        for chunk in self._chunks(lines, above):
            if (chunk.key,) in places:
                where = f"line {places[chunk.key,]} and again in line {chunk.line}"
                reason = f"`{_shown(chunk.key)}` stands in {where}; the first counts"
                self._note("DUPLICATE_KEY", reason, chunk.line)
                continue
            read = self._read(chunk, depth)
            found.append(read.value)
            for path, line in (*read.lines.items(), ((chunk.key,), chunk.line)):
                places.setdefault(path, line)
        values: dict[str, Any] = {}
        for each in reversed(found):  # what stands first counts
            values.update(each)
        return Read(values, places)

    def _chunks(self, lines: list[str], above: int) -> list[_Chunk]:
        chunks: list[_Chunk] = []
        for number, line in enumerate(lines, above + 1):
            key, beside = _key(line)
            if key and len(chunks) == MOST:
                self._note("TOO_MANY_KEYS", f"there are more than {MOST} keys", number)
                break
            if key:
                chunks.append(_Chunk(key, beside, number, [line]))
            elif chunks:
                chunks[-1].lines.append(line)
            elif line.strip() and not line.startswith("#"):
                self._note("STRAY_LINE", "the line belongs to no key", number)
        return chunks

    def _read(self, chunk: _Chunk, depth: int) -> Read:
        """Return the mapping that *chunk* is, empty where its value is lost."""
        try:
            return _load(chunk, dict)
        except DocumentError as error:
            problem = alone(error)
        mended = self._mended(chunk)
        if mended is not chunk:
            try:
                return _load(mended, dict)
            except DocumentError as error:
                problem = alone(error)
        known = len(self.notes)
        inner = self._taken_apart(mended, problem, depth)
        if inner is None:
            if all(note.code != "BROKEN_KEY" for note in self.notes[known:]):  # else it is told already
                reason = f"`{_shown(chunk.key)}` is left out: {problem.fact}"
                self._note("BROKEN_KEY", reason, _line_of(problem, chunk))
            return Read({}, {})
        return Read({chunk.key: inner.value}, {(chunk.key, *path): n for path, n in inner.lines.items()})

    def _mended(self, chunk: _Chunk) -> _Chunk:
        """Return *chunk* without what a careless editor put in, or *chunk* itself."""
        lines = chunk.lines
        for code, what, mend in _MENDINGS:
            better = [mend(line) for line in lines]
            if better != lines:
                first = next(index for index, line in enumerate(lines) if line != better[index])
                self._note(code, f"`{_shown(chunk.key)}` holds {what}", chunk.line + first)
                lines = better
        return chunk if lines is chunk.lines else chunk._replace(lines=lines, beside=_key(lines[0])[1])

    def _taken_apart(self, chunk: _Chunk, problem: DocumentError, depth: int) -> Read | None:
        """Return the value of *chunk* as keys, entries or text, or None where it is none of these."""
        below = _outdented(chunk.lines[1:])
        if not chunk.beside:
            return self._level(below, chunk.line, depth + 1) if depth < _DEEPEST else None
        if chunk.beside[0] in "|>":
            return self._as_it_stands(chunk, problem, "\n".join(below).strip())
        if isinstance(problem, yaml_text.YamlRefused) and chunk.beside[0] in "&*!":
            return None
        return self._as_it_stands(chunk, problem, _unquoted(chunk.beside, *below))

    def _level(self, lines: list[str], above: int, depth: int) -> Read | None:
        if any(map(_is_entry, lines)):
            return self._list(lines, above)
        read = self.mapping(lines, above, depth)
        return read if read.value else None

    def _list(self, lines: list[str], above: int) -> Read:
        values: list[Any] = []
        places: dict[Path, int] = {}
        for chunk in _entries(lines, above)[:MOST]:
            try:
                read = _load(chunk, list).value[0]
            except DocumentError as problem:
                read = self._as_it_stands(chunk, problem, _unquoted(chunk.key[2:], *chunk.lines[1:])).value
            places[len(values),] = chunk.line
            values.append(read)
        return Read(values, places)

    def _as_it_stands(self, chunk: _Chunk, problem: DocumentError, text: str) -> Read:
        reason = f"`{_shown(chunk.key)}` is taken as it stands: {problem.fact}"
        self._note("NOT_QUOTED", reason, _line_of(problem, chunk))
        return Read(text, {})

    def _note(self, code: str, reason: str, line: int) -> None:
        self.notes.append(Note(code, reason, self._file, line))


def _key(line: str) -> tuple[str, str]:
    """Return the key that begins at the margin of *line* and what stands beside it, or nothing.

    A key holds no blanks unless it is quoted: prose that was wrapped holds a `: ` now and then.
    """
    quote = line[:1]
    if quote in {'"', "'"}:
        key, _, rest = line[1:].partition(quote)
        rest = rest.lstrip()
        return (key, rest[1:].strip()) if rest.startswith(":") else ("", "")
    word = line.split(maxsplit=1)[0] if line[:1].strip() else ""
    if word[:1] in _NO_KEY or ":" not in line:
        return "", ""
    key = word.removesuffix(":")
    rest = line[len(key) :].lstrip()
    return (key, rest[1:].strip()) if rest[:1] == ":" and rest[1:2].strip() == "" else ("", "")


def _load(chunk: _Chunk, kind: type) -> Read:
    """Return *chunk* as YAML has it; what only looks like a key or an entry is refused."""
    document = yaml_text.load("\n".join(chunk.lines), source="", plain_text=True)
    if not isinstance(document.value, kind):
        raise DocumentError("no blank follows", hint="put one after the `:` or `-`", place=":1")
    above = chunk.line - 1
    return Read(document.value, {path: above + line for path, line in document.places.items() if path})


def _line_of(problem: DocumentError, chunk: _Chunk) -> int:
    number = problem.place.rpartition(":")[2]
    return chunk.line + int(number) - 1 if number.isdecimal() else chunk.line


def _is_entry(line: str) -> bool:
    return line[:1] == "-" and line[1:2] in {"", " ", "\t"}


def _entries(lines: list[str], above: int) -> list[_Chunk]:
    chunks: list[_Chunk] = []
    for number, line in enumerate(lines, above + 1):
        if _is_entry(line):
            chunks.append(_Chunk(f"- {line[1:].strip()}", "", number, [line]))
        elif chunks:
            chunks[-1].lines.append(line)
    return chunks


def _outdented(lines: list[str]) -> list[str]:
    margin = min((len(line) - len(line.lstrip(" ")) for line in lines if line.strip()), default=0)
    return [line[margin:] for line in lines]


def _unquoted(*lines: str) -> str:
    """Return *lines* as one line of text, without quotes around."""
    text = " ".join(" ".join(lines).split())
    quote = text[:1]
    if quote not in {'"', "'"}:
        return text
    return text[1:].removesuffix(quote)


def _shown(text: str) -> str:
    short = "".join(each if each.isprintable() else "\ufffd" for each in in_quotes(text[:_SHOWN]))
    return short if len(text) <= _SHOWN else f"{short}…"


# --- what careless editors put in -----------------------------------------------------------------


def _without_tabs(line: str) -> str:
    rest = line.lstrip()
    return line[: len(line) - len(rest)].replace("\t", "  ") + rest


def _without_controls(line: str) -> str:
    return _CONTROL.sub("\ufffd", _LINE_CHARACTER.sub(" ", line))


def _with_whole_characters(line: str) -> str:
    return _HALF.sub("\ufffd", _PAIR.sub(_whole, line))


def _whole(found: re.Match[str]) -> str:
    high, low = int(found[1], 16), int(found[2], 16)
    return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))


_MENDINGS = (
    ("CONTROL_CHARACTER", "a control character", _without_controls),
    ("TABS", "a tab in the indentation", _without_tabs),
    ("SURROGATES", "an escape for half a character", _with_whole_characters),
)
