"""Find and replace generated blocks in a Markdown file, between a pair of comments.

<!-- flow:steps planner -->
…
<!-- /flow:steps -->

Each marker has a line of its own; markers inside a fence are ignored. The words after the name are its arguments,
such as the name of a skill.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from flowrail.errors import DocumentError
from flowrail.text.placeholders import in_fences

_OPEN = re.compile(r"<!-- flow:([a-z][a-z-]*)((?: [^\s<>]+)*) -->\Z")


class NoMarkersError(DocumentError):
    """A block in a Markdown page has no end marker."""

    code = "NO_MARKERS"


class EmbeddedBlock(NamedTuple):
    """A block: name, arguments, line of the opening marker, and the positions of its content in the text."""

    name: str
    words: tuple[str, ...]
    line: int
    start: int
    end: int

    def of(self, text: str) -> str:
        """Return its content."""
        return text[self.start : self.end].replace("\r\n", "\n").strip("\n")


def blocks(text: str, *, source: str) -> Iterator[EmbeddedBlock]:
    """Yield every block of *text* in order."""
    fenced = in_fences(text)
    opened: EmbeddedBlock | None = None
    position = 0
    for number, raw in enumerate(text.split("\n")):
        line = raw.rstrip("\r")
        start, position = position, position + len(raw) + 1
        if opened is not None:
            if line == f"<!-- /flow:{opened.name} -->":
                yield opened._replace(end=start)
                opened = None
        elif number not in fenced and (marker := _OPEN.match(line)):
            opened = EmbeddedBlock(marker[1], tuple(marker[2].split()), number + 1, position, position)
    if opened is not None:
        raise NoMarkersError(
            f"the block `{opened.name}` does not end",
            hint=f"write <!-- /flow:{opened.name} --> on a line of its own below it",
            place=f"{source}:{opened.line}",
        )


def with_line_endings(text: str, block: EmbeddedBlock, content: str) -> str:
    """Return *content* with the line endings that the marker of *block* has in *text*."""
    ending = "\r\n" if text.endswith("\r\n", 0, block.start) else "\n"
    return "".join(f"{line}{ending}" for line in content.split("\n"))
