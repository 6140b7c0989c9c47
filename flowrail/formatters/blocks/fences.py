"""Blocks in a step's Markdown: a fence whose info string is ``flow:NAME`` becomes that block.

    ```flow:forbidden
    - Changing the public API
    - Leaving a test red
    ```

A line is an item, without its ``- ``; a line with more indentation continues the item before it. A fence inside
another fence stays text, and so does a fence that cannot become a block; `fence_problems` says why.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flowrail.formatters.blocks import instructions
from flowrail.text.placeholders import BLOCK_PREFIX, fences
from flowrail.text.safe_text import Markup

Resources = Callable[[str], str]

_BLOCKS: Mapping[str, Callable[[Sequence[str]], Markup]] = {
    "forbidden": instructions.format_forbidden,
    "expected_output": instructions.format_expected_output,
    "incorrect_behavior": instructions.format_incorrect_behavior,
    "detection_questions": instructions.format_detection_questions,
    "verification_checklist": instructions.format_verification_checklist,
}
RESOURCE = "resource"
KNOWN_FENCES = (*_BLOCKS, RESOURCE)
"""The names that a ``flow:`` fence may have."""
LONGEST_QUOTE = 40


class _Block(NamedTuple):
    """A ``flow:`` fence: its source, its first line, and its items."""

    line: int
    name: str
    source: str
    items: Sequence[str]
    is_closed: bool

    @property
    def problem(self) -> str | None:
        """Why the fence cannot become a block; `None` if it can."""
        if self.name not in KNOWN_FENCES:
            return f"unknown block `{self.name[:LONGEST_QUOTE]}`"
        if not self.is_closed:
            return "the fence is not closed"
        return None if self.items else "the fence is empty"


def with_blocks(text: str, resources: Resources) -> list[str | Markup]:
    """Return the lines of *text* in pieces, with blocks in place of fences; *resources* returns a resource by name."""
    pieces: list[str | Markup] = []
    for part in _parts(text):
        if isinstance(part, str):
            pieces.append(part)
        else:
            pieces += _block_pieces(part, resources)
    return pieces


def fence_problems(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the line, the name and the problem of every ``flow:`` fence that stays text. Lines count from 1."""
    for part in _parts(text):
        if isinstance(part, _Block) and part.problem:
            yield part.line, part.name, part.problem


def _block_pieces(block: _Block, resources: Resources) -> list[str | Markup]:
    """Return the blocks of a fence, or its text if it cannot become a block."""
    if block.problem:
        return [block.source]
    if block.name != RESOURCE:
        return [_BLOCKS[block.name](block.items)]
    try:
        return [instructions.format_resource(name, resources(name)) for name in block.items]
    except (ValueError, KeyError):  # an unknown resource
        return [block.source]


def _items(body: Sequence[str]) -> list[str]:
    """Return the lines of a fence as items; the smallest indentation counts as none."""
    lines = textwrap.dedent("\n".join(line.rstrip() for line in body)).split("\n")
    items: list[str] = []
    for line in filter(None, lines):
        if line.startswith((" ", "\t")) and items:
            items[-1] += f"\n{line.strip()}"
        else:
            items.append(line.strip().removeprefix("- ").strip())
    return items


def _parts(text: str) -> Iterator[str | _Block]:
    """Yield the ``flow:`` fences, and the text between them."""
    end = 0
    for fence in fences(text):
        if not fence.info.startswith(BLOCK_PREFIX):
            continue
        if fence.start > end:
            yield text[end : fence.start].removesuffix("\n")
        source = text[fence.start : fence.end]
        source = source.removesuffix("\n") if fence.is_closed else source
        lines = source.split("\n")
        yield _Block(
            text.count("\n", 0, fence.start) + 1,
            fence.info.removeprefix(BLOCK_PREFIX).strip(),
            source,
            _items(lines[1:-1] if fence.is_closed else lines[1:]),
            fence.is_closed,
        )
        end = fence.end
    if end <= len(text):
        yield text[end:]
