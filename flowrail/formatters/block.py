"""A part of an answer, described once: an element of XML for an agent, lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowrail.machines.frozen import Frozen
from flowrail.text.report import Line
from flowrail.text.safe_text import Markup, printed_block, printed_element, xml_verbatim


@dataclass(frozen=True)
class Block:
    """An element of an answer."""

    tag: str
    content: str | Sequence[str | Block] = ""
    """A text, or lines and blocks, each of which begins on a line of its own."""
    attributes: Mapping[str, object] = Frozen()
    """Those that are `None` are left out."""
    lines: Sequence[str | Line] = ()
    """What a person reads in place of the tag, the attributes and the texts."""


def as_xml(block: Block) -> str:
    """Return a block as XML. Its texts are escaped unless they are `Markup`."""
    if isinstance(block.content, str):
        return printed_element(block.tag, block.content, **block.attributes)
    inside = "\n".join(map(_part, block.content)).strip("\n")
    return printed_block(block.tag, [inside], **block.attributes)


def _part(part: str | Block) -> str:
    if isinstance(part, Block):
        return as_xml(part)
    return part if isinstance(part, Markup) else xml_verbatim(part)


def as_lines(block: Block) -> Iterator[str | Line]:
    """Yield what a person reads of a block and of the blocks in it."""
    yield from block.lines
    for part in block.content:
        if isinstance(part, Block):
            yield from as_lines(part)
