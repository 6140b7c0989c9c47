"""The head of a SKILL.md, from bytes to plain data, whatever its author's editor did to it.

YAML as a whole comes first. Where that fails each top-level key is read by itself, so that one bad
line costs one key, and mostly not even that: a text that YAML does not take is taken as it stands.
Every leniency is a note. Scalars are text as written, so a version 1.10 stays that; nothing written
is None. Pure: the bytes come from `scan`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from flowrail.discovery.diagnostics import Note
from flowrail.discovery.scan.frontmatter_rescue import by_key
from flowrail.errors import DocumentError
from flowrail.text import yaml as yaml_text

#: At most so much of a file is ever read.
LIMIT = 65_536

Path = tuple[str | int, ...]

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_LONGEST_MARK = 1_000  # what goes on for longer, and is no opening line yet, is something else
_OPENING = re.compile(rb"(?:[ \t]*+(?:\r\n|\n|\r))*+---[ \t]*+(?:\r\n|\n|\r)")
_CLOSING = re.compile(rb"[\r\n](?:---|\.\.\.)[ \t]*+(?=[\r\n]|\Z)")
# A key at the margin, an entry of a list, or what stands below either.
_IN_KEYS = re.compile(rb"[ \t-]|[^\s:]++:")


class Frontmatter(NamedTuple):
    """The keys that could be read, the line each stands in, and what was odd.

    ``problem`` says why there is nothing to read, where that is so.
    """

    values: Mapping[str, object] = {}
    lines: Mapping[Path, int] = {}
    notes: tuple[Note, ...] = ()
    problem: Note | None = None

    def line(self, *path: str | int) -> int:
        """Return the line of *path*, or of the nearest key around it; 0 where that is not known."""
        known = (self.lines.get(path[:length], 0) for length in range(len(path), 0, -1))
        return next(filter(None, known), 0)


def is_whole(data: bytes) -> bool:
    """Whether the frontmatter ends within *data*, or has not begun there, so that no more of the file is needed."""
    if data.startswith(_UTF16):
        return False
    start = len(_BOM) if data.startswith(_BOM) else 0
    opening = _OPENING.match(data, start)
    if opening is None:
        return len(data[start:].lstrip()) > _LONGEST_MARK
    return _CLOSING.search(data, opening.end() - 1) is not None


def read_frontmatter(data: bytes, file: str) -> Frontmatter:
    """Return what the first `LIMIT` bytes of *file* declare between two lines `---`."""
    data, notes = _plain_utf8(data[:LIMIT], file)
    opening = _OPENING.match(data)
    if opening is None:
        problem = Note("NO_FRONTMATTER", "the file does not begin with `---`", file, 1)
        return Frontmatter(notes=tuple(notes), problem=problem)
    above = _breaks(data[: opening.end()])
    if above > 1:
        notes.append(Note("LATE_FRONTMATTER", "blank lines stand above the first `---`", file, 1))
    closing = _CLOSING.search(data, opening.end() - 1)
    end = closing.start() + 1 if closing else _unclosed(data, opening.end(), file, notes)
    text = _decode(data[opening.end() : end], file, above, notes)
    found = read_block(text, file, above)
    return found._replace(notes=(*notes, *found.notes))


def read_block(text: str, file: str, above: int = 0) -> Frontmatter:
    """Return the mapping that *text* holds; *above* lines stand above it in *file*."""
    try:
        document = yaml_text.load("\n" * above + text, source=file, plain_text=True)
    except DocumentError:
        return _key_by_key(text, file, above)
    if isinstance(document.value, dict):
        return Frontmatter(document.value, document.places)
    if document.value is None:
        return Frontmatter()
    return _key_by_key(text, file, above)


def _key_by_key(text: str, file: str, above: int) -> Frontmatter:
    read, notes = by_key(text, file, above)
    if read.value:
        return Frontmatter(read.value, read.lines, tuple(notes))
    problem = Note("FRONTMATTER_NOT_MAPPING", "no `key: value` can be read", file, above + 1)
    return Frontmatter(notes=tuple(notes), problem=problem)


def _plain_utf8(data: bytes, file: str) -> tuple[bytes, list[Note]]:
    if data.startswith(_BOM):
        note = Note("BYTE_ORDER_MARK", "the file begins with a byte order mark", file, 1)
        return data[len(_BOM) :], [note]
    if data.startswith(_UTF16):
        text = data.decode("utf-16", "replace")
        return text.encode("utf-8", "replace"), [Note("UTF16", "the file is UTF-16", file, 1)]
    return data, []


def _decode(data: bytes, file: str, above: int, notes: list[Note]) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = above + 1 + _breaks(data[: error.start])
        notes.append(Note("NOT_UTF8", f"byte 0x{data[error.start]:02X} is not UTF-8", file, line))
        return data.decode("utf-8", "replace")


def _unclosed(data: bytes, start: int, file: str, notes: list[Note]) -> int:
    """Return where a frontmatter without its closing line seems to end."""
    if len(data) >= LIMIT - len(_BOM):
        reason = f"the frontmatter does not end within {LIMIT // 1024} kB"
        notes.append(Note("FRONTMATTER_TOO_LONG", reason, file, 1))
    else:
        notes.append(Note("UNCLOSED_FRONTMATTER", "no line `---` ends the frontmatter", file, 1))
    end = start
    for line in data[start:].splitlines(keepends=True):
        if not line.strip() or line.startswith(b"#") or not _IN_KEYS.match(line):
            break
        end += len(line)
    return end


def _breaks(data: bytes) -> int:
    return len(re.findall(rb"\r\n|\r|\n", data))
