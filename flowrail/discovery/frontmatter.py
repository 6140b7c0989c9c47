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
from dataclasses import dataclass, field, replace

from flowrail.errors import DocumentError
from flowrail.text import size_limits
from flowrail.text import yaml as yaml_text

_OPEN_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK

Path = tuple[str | int, ...]

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_OPENING = re.compile(r"\ufeff?(?:[ \t]*+(?:\r\n|\n|\r))*+---[ \t]*+(?:\r\n|\n|\r)")
_CLOSING = re.compile(r"[\r\n](?:---|\.\.\.)[ \t]*+(?=[\r\n]|\Z)")
#: A top-level key with an unquoted text that contains `: `.
_UNQUOTED_COLON = re.compile(r"([A-Za-z][\w-]*)(:[ \t]+)([^\s\"'\[{|>&*!#%@`,?-][^\r\n]*?: [^\r\n]*?)[ \t]*")
_HOLDS_YAML = ("handoff", "categories", "input_requirements", "output_types", "meta")
"""Keys below `metadata` whose text holds YAML, because the skill format allows only texts there."""


@dataclass(frozen=True)
class Problem:
    """What is wrong in a file, and where. ``line`` is 0 if it concerns the whole file."""

    reason: str
    line: int = 0


@dataclass(frozen=True)
class Frontmatter:
    """The keys and values of a file, and the line of each."""

    values: Mapping[str, object] = field(default_factory=dict)
    lines: Mapping[Path, int] = field(default_factory=dict)
    unquoted: Mapping[str, int] = field(default_factory=dict)
    """The lines of keys whose text has an unquoted `: `, by key."""
    problem: Problem | None = None
    """Why nothing, or not everything, can be read."""

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
        data = os.read(descriptor, size_limits.TEXT_BYTES)
    finally:
        os.close(descriptor)
    return read_frontmatter(data, path)


def read_frontmatter(data: bytes, file: str) -> Frontmatter:
    """Return the frontmatter in *data*, the first bytes of *file*. Bytes that are not UTF-8 are replaced."""
    text = data[: size_limits.TEXT_BYTES].decode("utf-8", "replace")
    opening = _OPENING.match(text)
    if opening is None:
        return Frontmatter(problem=Problem("the file does not begin with `---`", 1))
    closing = _CLOSING.search(text, opening.end() - 1)
    if closing is None:
        reason = f"the frontmatter does not end with a line `---` within {size_limits.TEXT_BYTES // 1024} kB"
        return Frontmatter(problem=Problem(reason, 1))
    above = len(_LINE_BREAK.findall(opening.group()))
    return _read_block(text[opening.end() : closing.start() + 1], file, above)


def _read_block(text: str, file: str, above: int) -> Frontmatter:
    """Return the mapping in *text*, which begins below line *above* of *file*."""
    try:
        return _parse(text, file, above)
    except DocumentError as error:
        refused = error
    quoted, keys = _quote_colons(text)
    if keys:
        try:
            return replace(
                _parse(quoted, file, above), unquoted={k: above + line for k, line in keys.items()}
            )
        except DocumentError:
            pass  # the first error is about the text as written
    return Frontmatter(problem=Problem(refused.fact, refused.line or above + 1))


def _parse(text: str, file: str, above: int) -> Frontmatter:
    document = yaml_text.load("\n" * above + text, source=file, plain_text=True)
    if isinstance(document.value, dict):
        return Frontmatter(document.value, document.places)
    if document.value is None:
        return Frontmatter()
    raise DocumentError(
        "the frontmatter is not a mapping", hint="write `key: value` lines", place=f"{file}:{above + 1}"
    )


def _quote_colons(text: str) -> tuple[str, dict[str, int]]:
    """Return *text* with quotes around top-level texts that contain `: `, and the line number of each key."""
    lines = text.splitlines()
    keys: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        match = _UNQUOTED_COLON.fullmatch(line)
        if match:
            value = match[3].replace("'", "''")
            lines[number - 1] = f"{match[1]}{match[2]}'{value}'"
            keys[match[1]] = number
    return "\n".join(lines), keys


def unfolded(front: Frontmatter) -> Frontmatter:
    """Return *front* with the YAML that the texts below `metadata` hold."""
    metadata = front.values.get("metadata")
    if not isinstance(metadata, dict):
        return front
    values, lines, problem = dict(metadata), dict(front.lines), front.problem
    for key in _HOLDS_YAML:
        text = metadata.get(key)
        if not isinstance(text, str) or not text.strip():
            continue
        line = front.line("metadata", key)
        above = line if "\n" in text else line - 1  # a block text begins on the next line
        try:
            document = yaml_text.load("\n" * above + text, source="metadata", plain_text=True)
        except DocumentError as error:
            at = error.line if "\n" in text else line
            problem = Problem(f"`metadata.{key}` cannot be read: {error.fact}", at)
            continue
        values[key] = document.value
        lines |= {("metadata", key, *path): at for path, at in document.places.items() if path}
    return replace(front, values={**front.values, "metadata": values}, lines=lines, problem=problem)
