"""Blocks in a step's Markdown: a fence whose info string is ``flow:NAME`` becomes that block.

    ```flow:forbidden                 ```flow:state_banner
    - Changing the public API         checkpoint: Plan
    - Leaving a test red              iteration: $visit
    ```                               mode: re-verify
                                      ```

A line is an item, without its ``- ``; a line with more indentation continues the item before it. Most blocks
take ``name: value`` lines, which come first if the rest is text. A fence inside another fence stays text, and so
does a fence that cannot become a block; `fence_problems` says why. A block that contains blocks has a longer
fence mark than they do.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from flowrail.formatters.blocks import instructions
from flowrail.formatters.blocks.fence_table import (
    BLOCKS,
    CASES,
    ENTRIES,
    FENCES,
    FLAGS,
    LONGEST_QUOTE,
    NOTHING,
    TEXT,
    FenceBody,
    FenceType,
)
from flowrail.text.placeholders import PLACEHOLDER
from flowrail.text.safe_text import Markup

Resources = Callable[[str], str]
Fill = Callable[[str], str]

_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*\Z)|~{3,})[ \t]*(.*)")
_NAME = re.compile(r"flow:([a-z_]+)\Z")
_FIELD = re.compile(r"([a-z_]+):(?:\s+(.*))?\Z", re.DOTALL)
_CASE = re.compile(r"([^:\n]+):\s+(.+)\Z", re.DOTALL)
_DEEPEST = 4
"""How deep blocks may be nested."""

KNOWN_FENCES = tuple(sorted(FENCES))
"""The names that a ``flow:`` fence may have."""


class FenceProblem(NamedTuple):
    """Why a ``flow:`` fence stays text; ``line`` counts from 1."""

    line: int
    name: str
    message: str


class _Fence(NamedTuple):
    """A ``flow:`` fence: ``source`` are all its lines, ``body`` the lines between its marks."""

    line: int
    info: str
    body: tuple[str, ...]
    source: tuple[str, ...]
    closed: bool

    @property
    def name(self) -> str:
        return self.info.removeprefix("flow:").strip()

    @property
    def type(self) -> FenceType | None:
        return FENCES.get(self.name) if _NAME.match(self.info) else None


class _FenceLines(NamedTuple):
    """The lines of a fence, and their first problem; ``text`` begins at ``line``."""

    fields: dict[str, str]
    items: list[str]
    text: str
    line: int
    problem: str | None


def with_blocks(text: str, resources: Resources, *, fill: Fill = str, depth: int = 0) -> list[str | Markup]:
    """Return the lines of *text* in pieces, with blocks in place of fences.

    *resources* returns a resource by name. *fill* replaces placeholders in text, items and values after the fences
    were found, so that no value opens a fence.
    """
    pieces: list[str | Markup] = []
    for part in _parts(text):
        blocks = None if isinstance(part, str) else _blocks(part, resources, fill, depth)
        if blocks is not None:
            pieces += blocks
        else:
            pieces.append(fill(part if isinstance(part, str) else "\n".join(part.source)))
    return pieces


def fence_problems(text: str, *, depth: int = 0) -> tuple[FenceProblem, ...]:
    """Return every ``flow:`` fence that stays text, with the reason."""
    found: list[FenceProblem] = []
    for fence in _fences(text):
        message = _problem(fence)
        if message:
            found.append(FenceProblem(fence.line, fence.name, message))
        elif fence.type is not None and fence.type.lines in {TEXT, BLOCKS}:
            within = _read(fence, fence.type)
            if depth >= _DEEPEST and any(_fences(within.text)):
                found.append(FenceProblem(fence.line, fence.name, "its blocks are nested too deep"))
                continue
            more = fence_problems(within.text, depth=depth + 1)
            found += [problem._replace(line=fence.line + within.line + problem.line) for problem in more]
    return tuple(found)


def _blocks(fence: _Fence, resources: Resources, fill: Fill, depth: int) -> list[str | Markup] | None:
    """Return the blocks of a fence, or `None` if it stays text."""
    fence_type = fence.type
    if fence_type is None or depth > _DEEPEST or _form_problem(fence, fence_type):
        return None
    try:
        if fence.name == "resource":
            return [instructions.format_resource(name, resources(name)) for name in _items(fence.body)]
        return [fence_type.make(_body(fence, fence_type, resources, fill, depth))]
    except (ValueError, KeyError):  # a value that does not fit, an unknown resource
        return None


def _body(fence: _Fence, fence_type: FenceType, resources: Resources, fill: Fill, depth: int) -> FenceBody:
    """Return the lines of a fence with placeholders filled and fences replaced."""
    read = _read(fence, fence_type)
    fields = {name: fill(value) for name, value in read.fields.items()}
    if fence_type.lines not in {TEXT, BLOCKS}:
        return FenceBody(fields, [fill(item) for item in read.items])
    pieces = with_blocks(read.text, resources, fill=fill, depth=depth + 1)
    if fence_type.lines == BLOCKS:
        pieces = [piece for piece in pieces if piece.strip()]
    return FenceBody(fields, pieces)


def _problem(fence: _Fence) -> str | None:
    """Return why a fence cannot become a block, or `None`."""
    fence_type = fence.type
    if fence_type is None:
        return f"unknown block `{fence.name[:LONGEST_QUOTE]}`"
    problem = _form_problem(fence, fence_type)
    if problem or fence.name == "resource":
        return problem
    try:
        fence_type.make(_body(fence, fence_type, str, _with_examples, _DEEPEST))
    except ValueError as error:
        return None if _is_filled("\n".join(fence.body)) else str(error)
    return None


def _form_problem(fence: _Fence, fence_type: FenceType) -> str | None:
    """Return what is wrong with the lines of a fence, independent of their values."""
    if not fence.closed:
        return "the fence is not closed"
    read = _read(fence, fence_type)
    missing = [name for name in fence_type.required if not read.fields.get(name)]
    if read.problem or missing:
        return read.problem or f"the line `{missing[0]}: …` is missing"
    if read.items and fence_type.lines == NOTHING:
        return f"unexpected line `{read.items[0][:LONGEST_QUOTE]}`"
    empty = (
        not read.text.strip() if fence_type.lines in {TEXT, BLOCKS} else len(read.items) < fence_type.at_least
    )
    if (empty and fence_type.at_least) or (fence_type.lines == CASES and not read.fields):
        return "the fence is empty"
    for name, value in read.fields.items() if fence_type.lines != CASES else ():
        if fence_type.is_number(name) and not (_is_filled(value) or (value.isascii() and value.isdecimal())):
            return f"`{name}` must be a whole number"
        if name in FLAGS and not (_is_filled(value) or value in {"true", "false"}):
            return f"`{name}` must be true or false"
    return fence_type.problem(read.fields)


def _is_filled(text: str) -> bool:
    """Return whether *text* has a placeholder, so that its value is not known yet."""
    return any(name != "$" for name in PLACEHOLDER.findall(text))


def _with_examples(text: str) -> str:
    """Return *text* with `1` for each placeholder."""
    return PLACEHOLDER.sub(lambda found: "$" if found.group(1) == "$" else "1", text)


def _read(fence: _Fence, fence_type: FenceType) -> _FenceLines:
    """Return the lines of a fence, and the first problem."""
    if fence_type.lines in {TEXT, BLOCKS}:
        return _read_text(fence, fence_type)
    fields: dict[str, str] = {}
    items: list[str] = []
    for item in _items(fence.body):
        is_case = fence_type.lines == CASES
        found = (_CASE if is_case else _FIELD).match(item)
        if is_case and not found:
            return _FenceLines(
                fields, items, "", 0, f"expected `result: what to do`, found `{item[:LONGEST_QUOTE]}`"
            )
        if not found or not (is_case or found.group(1) in fence_type.names):
            if fence_type.lines == ENTRIES and "=" not in item:
                return _FenceLines(
                    fields, items, "", 0, f"expected `NAME = VALUE`, found `{item[:LONGEST_QUOTE]}`"
                )
            items.append(item)
        elif found.group(1) in fields:
            return _FenceLines(fields, items, "", 0, f"`{found.group(1)[:LONGEST_QUOTE]}:` appears twice")
        else:
            fields[found.group(1)] = (found.group(2) or "").strip()
    return _FenceLines(fields, items, "", 0, None)


def _read_text(fence: _Fence, fence_type: FenceType) -> _FenceLines:
    """Return the fields at the start, and the text after them."""
    fields: dict[str, str] = {}
    start, problem = 0, None
    for line in fence.body:
        found = _FIELD.match(line.strip())
        if not found or found.group(1) not in fence_type.names:
            break
        if found.group(1) in fields:
            problem = f"`{found.group(1)}:` appears twice"
            break
        fields[found.group(1)] = (found.group(2) or "").strip()
        start += 1
    while start and start < len(fence.body) and not fence.body[start].strip():
        start += 1
    text = "\n".join(fence.body[start:])
    if fence_type.lines == BLOCKS and problem is None:
        other = next((part.strip() for part in _parts(text) if isinstance(part, str) and part.strip()), "")
        problem = f"expected blocks, found `{other.partition(chr(10))[0][:LONGEST_QUOTE]}`" if other else None
    return _FenceLines(fields, [], text, start, problem)


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


def _fences(text: str) -> Iterator[_Fence]:
    return (part for part in _parts(text) if isinstance(part, _Fence))


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
            yield _Fence(start + 1, opening.group(3), tuple(body), tuple(whole), closed)
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
