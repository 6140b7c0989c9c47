"""Blocks in a step's Markdown: a fence whose info string is ``flow:NAME`` becomes that block.

    ```flow:forbidden                 ```flow:state_banner
    - Changing the public API         checkpoint: Plan
    - Leaving a test red              iteration: $visit
    ```                               mode: re-verify
                                      ```

A line is an item, its ``- `` taken off; a line indented further goes on with the item before. Most
blocks take ``name: value`` lines, in front of all others where the rest is text. What is inside another
fence is text, and so is a fence that cannot become a block: `fence_problems` tells. Where a block holds
blocks, its fence has a longer mark than theirs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from flowrail.formatters.blocks import instructions
from flowrail.formatters.blocks.fence_kinds import (
    BLOCKS,
    CASES,
    ENTRIES,
    FLAGS,
    KINDS,
    NOTHING,
    TEXT,
    Body,
    Kind,
)
from flowrail.formatters.blocks.fence_makers import make
from flowrail.text.markup import Markup
from flowrail.text.placeholders import PLACEHOLDER

Resources = Callable[[str], str]
Fill = Callable[[str], str]

_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*\Z)|~{3,})[ \t]*(.*)")
_NAME = re.compile(r"flow:([a-z_]+)\Z")
_FIELD = re.compile(r"([a-z_]+):(?:\s+(.*))?\Z", re.DOTALL)
_CASE = re.compile(r"([^:\n]+):\s+(.+)\Z", re.DOTALL)
_SHOWN = 40
_DEEPEST = 4
"""How deep blocks may hold blocks."""

KNOWN_FENCES = tuple(sorted(KINDS))
"""The names that a ``flow:`` fence may have."""


class FenceProblem(NamedTuple):
    """A ``flow:`` fence that stays text, and why; ``line`` counts from 1."""

    line: int
    name: str
    message: str


class _Fence(NamedTuple):
    """A ``flow:`` fence: ``source`` is every line of it as written, ``body`` those between its marks."""

    line: int
    info: str
    body: tuple[str, ...]
    source: tuple[str, ...]
    closed: bool

    @property
    def name(self) -> str:
        return self.info.removeprefix("flow:").strip()

    @property
    def kind(self) -> Kind | None:
        return KINDS.get(self.name) if _NAME.match(self.info) else None


class _Read(NamedTuple):
    """What the lines of a fence are, and the first thing that is wrong with them; *text* begins at *line*."""

    fields: dict[str, str]
    items: list[str]
    text: str
    line: int
    problem: str | None


def with_blocks(text: str, resources: Resources, *, fill: Fill = str, depth: int = 0) -> list[str | Markup]:
    """Return *text* in pieces, each fence that can be a block as that; a line feed stood between them.

    *resources* gives the text of a resource by its name. *fill* puts values for placeholders into
    plain text, items and values, after the fences were found: nothing in a value opens a fence.
    """
    pieces: list[str | Markup] = []
    for part in _parts(text):
        made = None if isinstance(part, str) else _made(part, resources, fill, depth)
        if made is not None:
            pieces += made
        else:
            pieces.append(fill(part if isinstance(part, str) else "\n".join(part.source)))
    return pieces


def fence_names(text: str) -> tuple[str, ...]:
    """Return the names of all ``flow:`` fences in *text*, known or not, in order."""
    return tuple(fence.name for fence in _fences(text))


def resource_names(text: str) -> tuple[str, ...]:
    """Return the resources that the fences of *text* quote, in order."""
    return tuple(name for fence in _fences(text) if fence.name == "resource" for name in _items(fence.body))


def fence_problems(text: str, *, depth: int = 0) -> tuple[FenceProblem, ...]:
    """Return every ``flow:`` fence that stays text, although it was meant as a block."""
    found: list[FenceProblem] = []
    for fence in _fences(text):
        message = _problem(fence)
        if message:
            found.append(FenceProblem(fence.line, fence.name, message))
        elif fence.kind is not None and fence.kind.lines in {TEXT, BLOCKS}:
            within = _read(fence, fence.kind)
            if depth >= _DEEPEST and any(_fences(within.text)):
                found.append(FenceProblem(fence.line, fence.name, "it holds blocks too deep"))
                continue
            more = fence_problems(within.text, depth=depth + 1)
            found += [each._replace(line=fence.line + within.line + each.line) for each in more]
    return tuple(found)


def _made(fence: _Fence, resources: Resources, fill: Fill, depth: int) -> list[str | Markup] | None:
    """Return what a fence becomes, or `None` where it stays text."""
    kind = fence.kind
    if kind is None or depth > _DEEPEST or _form_problem(fence, kind):
        return None
    try:
        if fence.name == "resource":
            return [instructions.format_resource(name, resources(name)) for name in _items(fence.body)]
        return [make(fence.name, _body(fence, kind, resources, fill, depth))]
    except (ValueError, KeyError):  # a value that does not fit, a resource that is not there
        return None


def _body(fence: _Fence, kind: Kind, resources: Resources, fill: Fill, depth: int) -> Body:
    """Return what stands in a fence, placeholders filled and blocks in it made."""
    read = _read(fence, kind)
    fields = {name: fill(value) for name, value in read.fields.items()}
    if kind.lines not in {TEXT, BLOCKS}:
        return Body(fields, [fill(item) for item in read.items])
    pieces = with_blocks(read.text, resources, fill=fill, depth=depth + 1)
    if kind.lines == BLOCKS:
        pieces = [piece for piece in pieces if piece.strip()]
    return Body(fields, pieces)


def _problem(fence: _Fence) -> str | None:
    """Return why a fence cannot become a block, or `None`."""
    kind = fence.kind
    if kind is None:
        return f"`{fence.name[:_SHOWN]}` is no block"
    problem = _form_problem(fence, kind)
    if problem or fence.name == "resource":
        return problem
    try:
        make(fence.name, _body(fence, kind, str, _supposed, _DEEPEST))
    except ValueError as error:
        return None if _is_filled("\n".join(fence.body)) else str(error)
    return None


def _form_problem(fence: _Fence, kind: Kind) -> str | None:
    """Return what is wrong with the lines of a fence, whatever their values."""
    if not fence.closed:
        return "the fence is never closed"
    read = _read(fence, kind)
    missing = [name for name in kind.needed if not read.fields.get(name)]
    if read.problem or missing:
        return read.problem or f"there is no line `{missing[0]}: …`"
    if read.items and kind.lines == NOTHING:
        return f"it takes no line such as `{read.items[0][:_SHOWN]}`"
    empty = not read.text.strip() if kind.lines in {TEXT, BLOCKS} else len(read.items) < kind.fewest
    if (empty and kind.fewest) or (kind.lines == CASES and not read.fields):
        return "it is empty"
    for name, value in read.fields.items() if kind.lines != CASES else ():
        if kind.is_number(name) and not (_is_filled(value) or (value.isascii() and value.isdecimal())):
            return f"`{name}` is no number"
        if name in FLAGS and not (_is_filled(value) or value in {"true", "false"}):
            return f"`{name}` is neither true nor false"
    return kind.problem(read.fields)


def _is_filled(text: str) -> bool:
    """Return whether *text* has a placeholder, so that nobody knows yet what it will be."""
    return any(name != "$" for name in PLACEHOLDER.findall(text))


def _supposed(text: str) -> str:
    """Return *text* as it may read once it is filled."""
    return PLACEHOLDER.sub(lambda found: "$" if found.group(1) == "$" else "1", text)


def _read(fence: _Fence, kind: Kind) -> _Read:
    """Return what the lines of a fence are, and the first that fits nothing."""
    if kind.lines in {TEXT, BLOCKS}:
        return _read_text(fence, kind)
    fields: dict[str, str] = {}
    items: list[str] = []
    for item in _items(fence.body):
        is_case = kind.lines == CASES
        found = (_CASE if is_case else _FIELD).match(item)
        if is_case and not found:
            return _Read(fields, items, "", 0, f"`{item[:_SHOWN]}` is no line `result: what to do`")
        if not found or not (is_case or found.group(1) in kind.names):
            if kind.lines == ENTRIES and "=" not in item:
                return _Read(fields, items, "", 0, f"`{item[:_SHOWN]}` is no line `NAME = VALUE`")
            items.append(item)
        elif found.group(1) in fields:
            return _Read(fields, items, "", 0, f"`{found.group(1)[:_SHOWN]}:` stands twice")
        else:
            fields[found.group(1)] = (found.group(2) or "").strip()
    return _Read(fields, items, "", 0, None)


def _read_text(fence: _Fence, kind: Kind) -> _Read:
    """Return the fields in front, and the text after them."""
    fields: dict[str, str] = {}
    at, problem = 0, None
    for line in fence.body:
        found = _FIELD.match(line.strip())
        if not found or found.group(1) not in kind.names:
            break
        if found.group(1) in fields:
            problem = f"`{found.group(1)}:` stands twice"
            break
        fields[found.group(1)] = (found.group(2) or "").strip()
        at += 1
    while at and at < len(fence.body) and not fence.body[at].strip():
        at += 1
    text = "\n".join(fence.body[at:])
    if kind.lines == BLOCKS and problem is None:
        other = next((part.strip() for part in _parts(text) if isinstance(part, str) and part.strip()), "")
        problem = f"it takes blocks, not `{other.partition(chr(10))[0][:_SHOWN]}`" if other else None
    return _Read(fields, [], text, at, problem)


def _items(body: Sequence[str]) -> list[str]:
    """Return the lines of a fence as items; the least indentation of all counts as none."""
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
    """Yield the fences that are ours, and what stands between them."""
    lines = text.split("\n")
    plain: list[str] = []
    at = 0
    while at < len(lines):
        opening = _OPENING.match(lines[at].rstrip())
        end = _end(lines, at, opening.group(2)) if opening else at
        closed = end < len(lines)
        whole = lines[at : end + 1]
        if opening and opening.group(3).startswith("flow:"):
            if plain:
                yield "\n".join(plain)
            plain = []
            body = whole[1:-1] if closed else whole[1:]
            yield _Fence(at + 1, opening.group(3), tuple(body), tuple(whole), closed)
        else:
            plain += whole
        at = end + 1
    if plain:
        yield "\n".join(plain)


def _end(lines: Sequence[str], start: int, mark: str) -> int:
    """Return the line that closes a fence, or one past the last line."""
    closing = re.compile(f" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \\t]*\\Z")
    numbers = range(start + 1, len(lines))
    return next((number for number in numbers if closing.match(lines[number].rstrip("\r"))), len(lines))
