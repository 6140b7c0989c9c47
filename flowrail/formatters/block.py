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
from flowrail.text.safe_text import (
    Markup,
    one_line,
    printed_block,
    printed_element,
    shortened,
    visible,
    xml_verbatim,
)

COPIED = "needs_user_input"
"""The only element that a person reads as XML: an agent returns it in exactly this form."""
LONGEST_TEXT = 1_000
"""A longer text of a block is cut for a person; XML has it in full."""

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


def as_lines(block: Block, indent: str = "") -> Iterator[str | Line]:
    """Yield what a person reads of a block: its attributes in words, its texts, and its commands to copy.

    The tag is the title of an outer block. A block inside another one is an item, which its first attribute names.
    """
    tag, parts = block.tag.replace("_", " "), [*block.parts]
    named = ((name.replace("_", " "), value) for name, value in block.attributes.items())
    values = {name: value for name, value in named if value is not None and value is not False}
    about = [name if value is True else f"{name} {one_line(str(value))}" for name, value in values.items()]
    text = shortened(str(parts.pop(0)), LONGEST_TEXT) if parts and isinstance(parts[0], str | Hint) else ""
    if not indent:
        head = f"{tag.capitalize()} ({', '.join(about)})" if about else tag.capitalize()
    elif values:
        head = ", ".join([one_line(str(next(iter(values.values())))), *about[1:]])
    else:
        head = "" if text else tag
    ending = ":" if parts and not text else ""
    yield f"{indent}{'- ' if indent else ''}{': '.join(filter(None, (head, text)))}{ending}"
    for part in parts:
        if isinstance(part, Block):
            yield from as_lines(part, f"{indent}  ")
        elif isinstance(part, Command):
            yield command(visible(str(part)), len(indent) + 4)
        else:
            yield f"{indent}  {shortened(str(part), LONGEST_TEXT)}"


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
