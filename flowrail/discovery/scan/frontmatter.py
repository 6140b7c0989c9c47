"""Read the frontmatter of a SKILL.md: from bytes to keys, values and line numbers.

The frontmatter is YAML between two lines `---`. One mistake is tolerated because most authors make it: an
unquoted `: ` in a text at the top level. Scalars stay text as written, so that version 1.10 stays 1.10.
An empty value is `None`.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Mapping
from typing import NamedTuple

from flowrail.discovery.diagnostics import Note
from flowrail.errors import DocumentError
from flowrail.text import limits
from flowrail.text import yaml as yaml_text

_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK

Path = tuple[str | int, ...]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LINE_BREAK = re.compile(rb"\r\n|\r|\n")
_OPENING = re.compile(rb"(?:[ \t]*+(?:\r\n|\n|\r))*+---[ \t]*+(?:\r\n|\n|\r)")
_CLOSING = re.compile(rb"[\r\n](?:---|\.\.\.)[ \t]*+(?=[\r\n]|\Z)")
#: A top-level key with an unquoted text that contains `: `.
_UNQUOTED_COLON = re.compile(r"([A-Za-z][\w-]*)(:[ \t]+)([^\s\"'\[{|>&*!#%@`,?-][^\r\n]*?: [^\r\n]*?)[ \t]*")


class Frontmatter(NamedTuple):
    """The keys and values, the line of each, and notes about them.

    If nothing can be read, ``problem`` says why.
    """

    values: Mapping[str, object] = {}
    lines: Mapping[Path, int] = {}
    notes: tuple[Note, ...] = ()
    problem: Note | None = None

    def line(self, *path: str | int) -> int:
        """Return the line of *path*, or of the nearest key around it; 0 if that is unknown."""
        known = (self.lines.get(path[:length], 0) for length in range(len(path), 0, -1))
        return next(filter(None, known), 0)


def read_file(path: str) -> Frontmatter:
    """Return the frontmatter of the file at *path*. Raises OSError only.

    Follows links. A pipe or a device raises an OSError (EINVAL) unread.
    """
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        data = os.read(descriptor, limits.TEXT_BYTES)
    finally:
        os.close(descriptor)
    return read_frontmatter(data, path)


def read_frontmatter(data: bytes, file: str) -> Frontmatter:
    """Return the frontmatter in *data*, the first bytes of *file*."""
    notes: list[Note] = []
    data = data[: limits.TEXT_BYTES]
    if data.startswith(_BYTE_ORDER_MARK):
        notes.append(Note("BYTE_ORDER_MARK", "the file begins with a byte order mark", file, 1))
        data = data.removeprefix(_BYTE_ORDER_MARK)
    opening = _OPENING.match(data)
    if opening is None:
        problem = Note("NO_FRONTMATTER", "the file does not begin with `---`", file, 1)
        return Frontmatter(notes=tuple(notes), problem=problem)
    above = _line_breaks(opening.group())
    if above > 1:
        notes.append(Note("LATE_FRONTMATTER", "there are blank lines above the first `---`", file, 1))
    closing = _CLOSING.search(data, opening.end() - 1)
    if closing is None:
        reason = f"the frontmatter does not end with a line `---` within {limits.TEXT_BYTES // 1024} kB"
        return Frontmatter(notes=tuple(notes), problem=Note("UNCLOSED_FRONTMATTER", reason, file, 1))
    inside = data[opening.end() : closing.start() + 1]
    try:
        text = inside.decode("utf-8")
    except UnicodeDecodeError as error:
        line = above + 1 + _line_breaks(inside[: error.start])
        notes.append(Note("NOT_UTF8", f"byte 0x{inside[error.start]:02X} is not UTF-8", file, line))
        text = inside.decode("utf-8", "replace")
    block = read_block(text, file, above)
    return block._replace(notes=(*notes, *block.notes))


def read_block(text: str, file: str, above: int = 0) -> Frontmatter:
    """Return the mapping in *text*, which begins below line *above* of *file*."""
    try:
        return _parse(text, file, above)
    except DocumentError as error:
        refused = error
    quoted, keys = _quote_colons(text)
    if keys:
        try:
            block = _parse(quoted, file, above)
        except DocumentError:
            pass  # the first error is about the text as written
        else:
            notes = [
                Note("NOT_QUOTED", f"`{key}` has an unquoted `: ` in its text", file, above + line)
                for line, key in keys.items()
            ]
            return block._replace(notes=tuple(notes))
    number = refused.place.rpartition(":")[2]
    line = int(number) if number.isdecimal() else above + 1
    return Frontmatter(problem=Note("INVALID_FRONTMATTER", refused.fact, file, line))


def _parse(text: str, file: str, above: int) -> Frontmatter:
    document = yaml_text.load("\n" * above + text, source=file, plain_text=True)
    if isinstance(document.value, dict):
        return Frontmatter(document.value, document.places)
    if document.value is None:
        return Frontmatter()
    raise DocumentError(
        "the frontmatter is not a mapping", hint="write `key: value` lines", place=f"{file}:{above + 1}"
    )


def _quote_colons(text: str) -> tuple[str, dict[int, str]]:
    """Return *text* with quotes around top-level texts that contain `: `, and their keys by line number."""
    lines = text.splitlines()
    keys: dict[int, str] = {}
    for number, line in enumerate(lines, 1):
        match = _UNQUOTED_COLON.fullmatch(line)
        if match:
            value = match[3].replace("'", "''")
            lines[number - 1] = f"{match[1]}{match[2]}'{value}'"
            keys[number] = match[1]
    return "\n".join(lines), keys


def _line_breaks(data: bytes) -> int:
    return len(_LINE_BREAK.findall(data))
