"""Generated blocks in a Markdown file, between a pair of comments that name them.

<!-- flow:steps planner -->
…
<!-- /flow:steps -->

Markers stand on lines of their own; those inside of a fence are text. What comes after the name says what
of: a skill's name, say.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from flowrail.errors import DocumentError

_OPEN = re.compile(r"<!-- flow:([a-z][a-z-]*)((?: [^\s<>]+)*) -->\Z")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class NoMarkersError(DocumentError):
    """The file does not hold that block exactly once, or a block in it does not end."""

    code = "NO_MARKERS"


class Marked(NamedTuple):
    """A block: its name, the words after it, the line it begins at, and where its inside stands in the text."""

    name: str
    words: tuple[str, ...]
    line: int
    start: int
    end: int

    def of(self, text: str) -> str:
        """Return what stands in it."""
        return text[self.start : self.end].replace("\r\n", "\n").strip("\n")


def blocks(text: str, *, source: str) -> Iterator[Marked]:
    """Yield every block of *text* in order."""
    fence = ""
    opened: Marked | None = None
    at = 0
    for number, raw in enumerate(text.splitlines(keepends=True), start=1):
        line = raw.rstrip("\r\n")
        if opened is not None:
            if line == f"<!-- /flow:{opened.name} -->":
                yield opened._replace(end=at)
                opened = None
        elif fence:
            fence = "" if _ends(fence, line) else fence
        elif found := _FENCE.match(line):
            fence = found[1]
        elif marker := _OPEN.match(line):
            opened = Marked(marker[1], tuple(marker[2].split()), number, at + len(raw), at + len(raw))
        at += len(raw)
    if opened is not None:
        raise NoMarkersError(
            f"the block `{opened.name}` does not end",
            hint=f"write <!-- /flow:{opened.name} --> on a line of its own below it",
            place=f"{source}:{opened.line}",
        )


def _ends(fence: str, line: str) -> bool:
    shown = line.strip()
    return shown.startswith(fence) and not shown.strip(fence[0])


def block(text: str, name: str, *, source: str) -> str:
    """Return what stands between the markers of *name*."""
    return _found(text, name, source).of(text)


def replaced(text: str, name: str, content: str, *, source: str) -> str:
    """Return *text* with *content* between the markers of *name*; everything else stays as it is."""
    return put(text, _found(text, name, source), content)


def put(text: str, into: Marked, content: str) -> str:
    """Return *text* with *content* in that block, in the line endings of its marker."""
    return f"{text[: into.start]}{inside(text, into, content)}{text[into.end :]}"


def inside(text: str, into: Marked, content: str) -> str:
    """Return *content* as it stands in that block of *text*, in the line endings of its marker."""
    ending = "\r\n" if text.endswith("\r\n", 0, into.start) else "\n"
    return "".join(f"{line}{ending}" for line in content.split("\n"))


def _found(text: str, name: str, source: str) -> Marked:
    found = [each for each in blocks(text, source=source) if each.name == name]
    if len(found) != 1:
        raise NoMarkersError(
            f"holds the block `{name}` {len(found)} times" if found else f"has no block `{name}`",
            hint=f"write once <!-- flow:{name} --> and <!-- /flow:{name} -->, each on a line of its own",
            place=source,
        )
    return found[0]
