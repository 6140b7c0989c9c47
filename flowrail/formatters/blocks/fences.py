"""Blocks in a step's Markdown: a fence whose info string is ``flow:NAME`` becomes that block.

    ```flow:forbidden
    - Changing the public API
    - Leaving a test red
    ```

A line is an item, without its ``- ``; a line with more indentation continues the item before it. A fence inside
another fence stays text, and so does a fence that cannot become a block; `fence_problems` says why.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flowrail.formatters.blocks import instructions
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
_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*\Z)|~{3,})[ \t]*(.*)")


class FenceProblem(NamedTuple):
    """Why a ``flow:`` fence stays text; ``line`` counts from 1."""

    line: int
    name: str
    message: str


class _Fence(NamedTuple):
    """A ``flow:`` fence: ``source`` are all its lines, ``body`` the lines between its marks."""

    line: int
    name: str
    body: tuple[str, ...]
    source: tuple[str, ...]
    closed: bool

    @property
    def problem(self) -> str | None:
        """Why it cannot become a block."""
        if self.name not in KNOWN_FENCES:
            return f"unknown block `{self.name[:LONGEST_QUOTE]}`"
        if not self.closed:
            return "the fence is not closed"
        return None if _items(self.body) else "the fence is empty"


def with_blocks(text: str, resources: Resources) -> list[str | Markup]:
    """Return the lines of *text* in pieces, with blocks in place of fences; *resources* returns a resource by name."""
    pieces: list[str | Markup] = []
    for part in _parts(text):
        if isinstance(part, str):
            pieces.append(part)
        else:
            pieces += _blocks(part, resources)
    return pieces


def fence_problems(text: str) -> tuple[FenceProblem, ...]:
    """Return every ``flow:`` fence that stays text, with the reason."""
    fences = (part for part in _parts(text) if isinstance(part, _Fence))
    return tuple(FenceProblem(fence.line, fence.name, fence.problem) for fence in fences if fence.problem)


def _blocks(fence: _Fence, resources: Resources) -> list[str | Markup]:
    """Return the blocks of a fence, or its text."""
    source = "\n".join(fence.source)
    if fence.problem:
        return [source]
    items = _items(fence.body)
    if fence.name != RESOURCE:
        return [_BLOCKS[fence.name](items)]
    try:
        return [instructions.format_resource(name, resources(name)) for name in items]
    except (ValueError, KeyError):  # an unknown resource
        return [source]


def _items(body: Sequence[str]) -> list[str]:
    """Return the lines of a fence as items; the smallest indentation counts as none."""
    lines = [line.rstrip() for line in body if line.strip()]
    least = min((_indentation(line) for line in lines), default=0)
    items: list[str] = []
    for line in lines:
        if _indentation(line) > least and items:
            items[-1] += f"\n{line.strip()}"
        else:
            items.append(line.strip().removeprefix("- ").strip())
    return items


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _parts(text: str) -> Iterator[str | _Fence]:
    """Yield the ``flow:`` fences, and the text between them."""
    lines = text.split("\n")
    plain: list[str] = []
    start = 0
    while start < len(lines):
        opening = _OPENING.match(lines[start].rstrip())
        end = _end(lines, start, opening.group(2)) if opening else start
        closed = end < len(lines)
        whole = lines[start : end + 1]
        if opening and opening.group(3).startswith("flow:"):
            if plain:
                yield "\n".join(plain)
            plain = []
            body = whole[1:-1] if closed else whole[1:]
            name = opening.group(3).removeprefix("flow:").strip()
            yield _Fence(start + 1, name, tuple(body), tuple(whole), closed)
        else:
            plain += whole
        start = end + 1
    if plain:
        yield "\n".join(plain)


def _end(lines: Sequence[str], start: int, mark: str) -> int:
    """Return the line that closes a fence, or one past the last line."""
    closing = re.compile(f" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \\t]*\\Z")
    numbers = range(start + 1, len(lines))
    return next((number for number in numbers if closing.match(lines[number].rstrip("\r"))), len(lines))
