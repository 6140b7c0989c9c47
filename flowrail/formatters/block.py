"""A part of an answer, described once: an element of XML for an agent, lines for a person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree import ElementTree as ET

from flowrail.command import Command, Hint
from flowrail.machines.frozen import Frozen
from flowrail.text.placeholders import in_fences
from flowrail.text.report import Line, command
from flowrail.text.safe_text import Markup, printed_block, printed_element, visible, xml_verbatim

COPIED = "needs_user_input"
"""The only element that a person reads as XML: an agent returns it in exactly this form."""


Show: TypeAlias = Callable[[Command], str]
"""How an interface shows a command: as a shell line (`str`), or as the call of a tool."""


@dataclass(frozen=True)
class Block:
    """An element of an answer."""

    tag: str
    content: Part | Sequence[Part] = ""
    """A part, or several of which each begins on a line of its own."""
    attributes: Mapping[str, object] = Frozen()
    """Those that are `None` are left out."""
    lines: Sequence[str | Line] = ()
    """What a person reads in place of the tag, the attributes and the texts."""

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


def as_lines(block: Block) -> Iterator[str | Line]:
    """Yield what a person reads of a block and of the blocks and commands in it."""
    yield from block.lines
    for part in block.parts:
        if isinstance(part, Block):
            yield from as_lines(part)
        elif isinstance(part, Command) or (isinstance(part, Hint) and block.lines):
            commands = (
                [part] if isinstance(part, Command) else [p for p in part.parts if isinstance(p, Command)]
            )
            yield from (command(visible(str(shown)), 4) for shown in commands)


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
    yield from prose(visible("\n".join(_inside(whole, ""))))


def _inside(element: ET.Element, indent: str) -> Iterator[str]:
    """Yield the texts and elements in *element*. Elements without elements of their own are a list."""
    same = Counter(child.tag for child in element)
    yield from _texts(element.text, indent)
    for child in element:
        if child.tag == COPIED:
            source = ET.tostring(child, encoding="unicode").removesuffix(child.tail or "")
            yield from _texts(source, f"    {indent}")
        elif len(child) or element.tag == "all":
            yield from _titled(child, indent)
        else:
            is_named = same[child.tag] == 1 and "n" not in child.attrib
            yield from _item(child, indent, is_named=is_named)
        yield from _texts(child.tail, indent)


def _titled(element: ET.Element, indent: str) -> Iterator[str]:
    name = " ".join(filter(None, (element.tag.replace("_", " ").capitalize(), element.get("n"))))
    about = ", ".join(f"{key.replace('_', ' ')} {value}" for key, value in element.items() if key != "n")
    colon = ":" if len(element) or element.text else ""
    yield f"{indent}{name}{f' ({about})' if about else ''}{colon}"
    yield from _inside(element, f"{indent}  ")


def _item(element: ET.Element, indent: str, *, is_named: bool) -> Iterator[str]:
    """Yield a text with the values of its attributes before it, and the tag if no element beside it has the same."""
    values = [value for key, value in element.items() if key != "n"]
    label = " ".join([*([element.tag.replace("_", " ")] if is_named else []), *values])
    bullet = f"{element.attrib['n']}." if "n" in element.attrib else "-"
    first, *others = (element.text or "").strip("\n").split("\n")
    yield f"{indent}{bullet} {f'{label}: ' if label else ''}{first}"
    yield from (f"{indent}  {line}" for line in others)


def _texts(text: str | None, indent: str) -> Iterator[str]:
    inside = (text or "").strip("\n")
    return (f"{indent}{line}" if line.strip() else "" for line in inside.split("\n")) if inside else iter(())
