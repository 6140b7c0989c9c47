"""Blocks in a step's Markdown: a fence whose info string is ``flow:NAME`` becomes that block.

    ```flow:forbidden                 ```flow:state_banner
    - Changing the public API         checkpoint: Plan
    - Leaving a test red              iteration: $visit
    ```                               mode: re-verify
                                      ```

A line is an item, its ``- `` taken off; a line indented further goes on with the item before. Some
blocks take ``name: value`` lines. What is inside another fence is text, and so is a fence that
cannot become a block: `fence_problems` tells. Blocks that are seldom used are imported when they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from flowrail.formatters import blocks
from flowrail.machines.markup import Markup

Resources = Callable[[str], str]
Fill = Callable[[str], str]
Fields = Mapping[str, str]

_OPENING = re.compile(r"( {0,3})(`{3,}(?=[^`]*\Z)|~{3,})[ \t]*(.*)")
_NAME = re.compile(r"flow:([a-z_]+)\Z")
_FIELD = re.compile(r"([a-z_]+):(?:\s+(.*))?\Z", re.DOTALL)
_CASE = re.compile(r"([^:\n]+):\s+(.+)\Z", re.DOTALL)
_SHOWN = 40


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


class _Kind(NamedTuple):
    """How lines become a block: which fields it needs and may have, how few items; `None` takes no items."""

    make: Callable[[Fields, Sequence[str]], Markup]
    fewest: int | None = None
    needed: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    cases: bool = False
    """Whether every line is ``result: what to do``."""


class _Body(NamedTuple):
    fields: dict[str, str]
    items: list[str]
    problem: str | None


def with_blocks(text: str, resources: Resources, *, fill: Fill = str) -> list[str | Markup]:
    """Return *text* in pieces, each fence that can be a block as that; a line feed stood between them.

    *resources* gives the text of a resource by its name. *fill* puts values for placeholders into
    plain text, items and values, after the fences were found: nothing in a value opens a fence.
    """
    pieces: list[str | Markup] = []
    for part in _parts(text):
        if isinstance(part, str):
            pieces.append(fill(part))
        elif part.name == "resource" and _problem(part) is None:
            pieces += [blocks.format_resource(name, resources(name)) for name in _items(part.body)]
        else:
            pieces.append(_block(part, fill) or fill("\n".join(part.source)))
    return pieces


def fence_names(text: str) -> tuple[str, ...]:
    """Return the names of all ``flow:`` fences in *text*, known or not, in order."""
    return tuple(fence.name for fence in _fences(text))


def resource_names(text: str) -> tuple[str, ...]:
    """Return the resources that the fences of *text* quote, in order."""
    return tuple(name for fence in _fences(text) if fence.name == "resource" for name in _items(fence.body))


def fence_problems(text: str) -> tuple[FenceProblem, ...]:
    """Return every ``flow:`` fence that stays text, although it was meant as a block."""
    found = ((fence, _problem(fence)) for fence in _fences(text))
    return tuple(FenceProblem(fence.line, fence.name, message) for fence, message in found if message)


def _state_banner(fields: Fields, items: Sequence[str]) -> Markup:
    return blocks.format_state_banner(fields["checkpoint"], fields["iteration"], fields["mode"], items)


def _qr_banner(fields: Fields, _: Sequence[str]) -> Markup:
    from flowrail.formatters.review_blocks import format_qr_banner
    from flowrail.machines.gates import QRState

    return format_qr_banner(QRState(int(fields["iteration"])), fields["name"], fresh_review=True)


def _model_selection(fields: Fields, _: Sequence[str]) -> Markup:
    from flowrail.formatters.dispatch_blocks import format_model_selection

    return format_model_selection(fields["model"], fields.get("reason", ""))


def _orchestrator_constraint(*_: object) -> Markup:
    from flowrail.formatters.dispatch_blocks import format_orchestrator_constraint

    return format_orchestrator_constraint()


def _question_format(*_: object) -> Markup:
    from flowrail.machines.relay import SUB_AGENT_QUESTION_FORMAT

    return SUB_AGENT_QUESTION_FORMAT


def _question_relay(*_: object) -> Markup:
    from flowrail.machines.relay import QUESTION_RELAY_HANDLER

    return QUESTION_RELAY_HANDLER


_KINDS: Mapping[str, _Kind] = {
    "resource": _Kind(lambda *_: Markup(""), fewest=1),
    "forbidden": _Kind(lambda _, items: blocks.format_forbidden(items), fewest=1),
    "expected_output": _Kind(lambda _, items: blocks.format_expected_output(items), fewest=1),
    "incorrect_behavior": _Kind(
        lambda fields, items: blocks.format_incorrect_behavior(items, fields.get("consequence", "")),
        fewest=1,
        fields=("consequence",),
    ),
    "detection_questions": _Kind(
        lambda fields, items: blocks.format_detection_questions(items, fields.get("category")),
        fewest=1,
        fields=("category",),
    ),
    "verification_checklist": _Kind(
        lambda fields, items: blocks.format_verification_checklist(items, fields.get("name")),
        fewest=1,
        fields=("name",),
    ),
    "state_banner": _Kind(_state_banner, fewest=0, needed=("checkpoint", "iteration", "mode")),
    "qr_banner": _Kind(_qr_banner, needed=("name", "iteration")),
    "routing": _Kind(lambda fields, _: blocks.format_routing(fields), cases=True),
    "model_selection": _Kind(_model_selection, needed=("model",), fields=("reason",)),
    "orchestrator_constraint": _Kind(_orchestrator_constraint),
    "open_question_guidance": _Kind(lambda *_: blocks.format_open_question_guidance()),
    "factored_verification_rationale": _Kind(lambda *_: blocks.format_factored_verification_rationale()),
    "question_format": _Kind(_question_format),
    "question_relay": _Kind(_question_relay),
}
KNOWN_FENCES = tuple(sorted(_KINDS))
"""The names that a ``flow:`` fence may have."""


def _block(fence: _Fence, fill: Fill) -> Markup | None:
    """Return the block of a fence, or `None` where it cannot be one."""
    if _problem(fence) is not None:
        return None
    kind = _KINDS[fence.name]
    body = _read(fence, kind)
    try:
        return kind.make(
            {name: fill(value) for name, value in body.fields.items()}, [fill(item) for item in body.items]
        )
    except ValueError:  # a value that is no number where one is needed
        return None


def _problem(fence: _Fence) -> str | None:
    """Return why a fence cannot become a block, or `None`."""
    kind = _KINDS.get(fence.name) if _NAME.match(fence.info) else None
    if kind is None:
        return f"`{fence.name[:_SHOWN]}` is no block"
    if not fence.closed:
        return "the fence is never closed"
    body = _read(fence, kind)
    missing = [name for name in kind.needed if not body.fields.get(name)]
    if body.problem or missing:
        return body.problem or f"there is no line `{missing[0]}: …`"
    if body.items and kind.fewest is None:
        return f"it takes no line such as `{body.items[0][:_SHOWN]}`"
    if len(body.items) < (kind.fewest or 0) or (kind.cases and not body.fields):
        return "it is empty"
    number = body.fields.get("iteration", "1") if fence.name == "qr_banner" else "1"
    return None if "$" in number or number.isdecimal() else "`iteration` is no number"


def _read(fence: _Fence, kind: _Kind) -> _Body:
    """Return the fields and the items of a fence, and the first line that fits neither."""
    fields: dict[str, str] = {}
    items: list[str] = []
    for item in _items(fence.body):
        found = (_CASE if kind.cases else _FIELD).match(item)
        if kind.cases and not found:
            return _Body(fields, items, f"`{item[:_SHOWN]}` is no line `result: what to do`")
        if not found or not (kind.cases or found.group(1) in (*kind.needed, *kind.fields)):
            items.append(item)
        elif found.group(1) in fields:
            return _Body(fields, items, f"`{found.group(1)[:_SHOWN]}:` stands twice")
        else:
            fields[found.group(1)] = (found.group(2) or "").strip()
    return _Body(fields, items, None)


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
