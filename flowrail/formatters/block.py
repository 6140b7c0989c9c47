"""A part of an answer, described once: an element of XML for an agent, lines for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias
from xml.etree import ElementTree as ET

from flowrail.command import Command, Hint
from flowrail.machines.frozen import Frozen
from flowrail.text.placeholders import in_fences
from flowrail.text.report import Line, command
from flowrail.text.safe_text import (
    Markup,
    one_line,
    printed_block,
    printed_element,
    visible,
    xml_verbatim,
)

COPIED = "needs_user_input"
"""The only element that a person reads as XML: an agent returns it in exactly this form."""
Show: TypeAlias = Callable[[Command], str]
"""How an interface shows a command: as a shell line (`str`), or as the call of a tool."""


class Block(NamedTuple):
    """An element of an answer."""

    tag: str
    content: Part | Sequence[Part] = ""
    """A part, or several of which each begins on a line of its own."""
    attributes: Mapping[str, object] = Frozen()
    """Those that are `None` are left out."""

    @property
    def parts(self) -> Sequence[Part]:
        """The content as a sequence."""
        return [self.content] if isinstance(self.content, str | Command | Hint | Block) else self.content


Part: TypeAlias = str | Command | Hint | Block


def as_xml(block: Block, show: Show = str) -> str:
    """Return a block as XML, its commands as *show* prints them. Its texts are escaped unless they are `Markup`."""
    if isinstance(block.content, str | Command | Hint):
        return printed_element(block.tag, _text(block.content, show), **block.attributes)
    inside = "\n".join(_part(part, show) for part in block.parts).strip("\n")
    return printed_block(block.tag, [inside] if inside else [], **block.attributes)


def _part(part: Part, show: Show) -> str:
    if isinstance(part, Block):
        return as_xml(part, show)
    return part if isinstance(part, Markup) else xml_verbatim(_text(part, show))


def _text(part: str | Command | Hint, show: Show) -> str:
    if isinstance(part, Command):
        return show(part)
    return part.render(show) if isinstance(part, Hint) else part


def as_lines(block: Block, indent: str = "", *, is_named: bool = True) -> Iterator[str | Line]:
    """Yield what a person reads of a block: its tag, its attributes in words, its texts, and its commands to copy.

    A block inside another one is an item. Its first attribute names it, otherwise its tag if it *is named* by that.
    """
    named = ((name.replace("_", " "), value) for name, value in block.attributes.items())
    values = {name: value for name, value in named if value is not None and value is not False}
    about = [name if value is True else f"{name} {one_line(str(value))}" for name, value in values.items()]
    tag, parts = block.tag.replace("_", " "), [*block.parts]
    text = [*_text_lines(parts.pop(0))] if parts and isinstance(parts[0], str | Hint) else []
    first = text.pop(0) if text and isinstance(text[0], str) else ""
    head = tag if is_named else ""
    if not indent:
        head = f"{tag.capitalize()} ({', '.join(about)})" if about else tag.capitalize()
    elif values:
        head = ", ".join([one_line(str(next(iter(values.values())))), *about[1:]])
    ending = ":" if (text or parts) and not first else ""
    yield f"{indent}{'- ' if indent else ''}{': '.join(filter(None, (head, str(first))))}{ending}"
    yield from _indented(text, indent)
    same = Counter(part.tag for part in parts if isinstance(part, Block))
    for part in parts:
        if isinstance(part, Block):
            yield from as_lines(part, f"{indent}  ", is_named=same[part.tag] == 1)
        elif isinstance(part, Command):
            yield command(visible(str(part)), len(indent) + 4)
        else:
            yield from _indented(_text_lines(part), indent)


def _text_lines(text: object) -> Iterator[str | Line]:
    """Yield a text of a step's instructions in its lines, and any other on one line: it must not look like a command."""
    shown = str(text).strip("\n")
    if shown:
        yield from prose(visible(shown)) if isinstance(text, Markup) else (one_line(shown),)


def _indented(lines: Iterable[str | Line], indent: str) -> Iterator[str | Line]:
    for shown in lines:
        inside = f"{indent}  {shown.parts[0] if isinstance(shown, Line) else shown}"
        yield Line((inside,), wraps=False) if isinstance(shown, Line) else inside


def prose(text: str) -> Iterator[str | Line]:
    """Yield the lines of instructions; code, tables and lines that are indented as code are not wrapped."""
    fenced = in_fences(text)
    for number, text_line in enumerate(text.split("\n")):
        wraps = number not in fenced and not text_line.startswith(("|", "    "))
        yield text_line if wraps else Line((text_line,), wraps=False)


def markup_lines(markup: str) -> Iterator[str | Line]:
    """Yield what a person reads of an element of a step's instructions: its tag and attributes in words, and its texts."""
    try:
        whole = ET.fromstring(f"<all>{markup}</all>")  # noqa: S314 - escaped by the functions that make markup
    except ET.ParseError:  # an author called it markup
        yield from prose(visible(markup))
        return
    for part in _block(whole).parts:
        yield from as_lines(part) if isinstance(part, Block) else _text_lines(part)


def _block(element: ET.Element) -> Block:
    """Return an element of XML as a block. An element that an agent returns stays XML."""
    parts: list[str | Block] = [element.text or ""]
    for child in element:
        source = ET.tostring(child, encoding="unicode").removesuffix(child.tail or "")
        copied = "\n".join(f"    {line}" for line in source.split("\n"))
        parts += [copied if child.tag == COPIED else _block(child), child.tail or ""]
    shown = [part if isinstance(part, Block) else Markup(part.strip("\n")) for part in parts]
    return Block(
        element.tag, [part for part in shown if isinstance(part, Block) or part.strip()], element.attrib
    )
