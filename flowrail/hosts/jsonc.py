"""JSON as hosts keep their settings, with places: comments and commas at the end are taken, nothing is lost.

A tree over the text, so that something can be put in or taken out and every other byte stays.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from flowrail.errors import DocumentError
from flowrail.text.json import place
from flowrail.text.safe_text import in_quotes

DEEPEST = 64
MOST_VALUES = 20_000
_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]++|//[^\n]*+|/\*.*?\*/)*+", re.DOTALL)
_REMARK = re.compile(r"(?:[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/))+")
_WORD = re.compile(r"-?[0-9][0-9.eE+-]*|true|false|null")
_OPEN = "a text is not closed in its line, or holds a control character"
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+"')


class Node(NamedTuple):
    """A value in the text: where it begins and ends, and what it is.

    ``inner`` holds the values of an object or a list in order; ``names`` those of an object's members, with
    the places where their names begin. ``commas`` are the places of the commas.
    """

    start: int
    end: int
    value: Any
    inner: tuple[Node, ...] = ()
    names: tuple[tuple[str, int], ...] = ()
    commas: tuple[int, ...] = ()

    @property
    def is_object(self) -> bool:
        """Whether it is an object."""
        return isinstance(self.value, dict)

    @property
    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self.value, list)

    def member(self, name: str) -> Node | None:
        """Return a member of an object; of several of one name the last, as readers take it."""
        found = [each for (own, _), each in zip(self.names, self.inner, strict=False) if own == name]
        return found[-1] if self.is_object and found else None

    def begins(self, at: int) -> int:
        """Return where the element *at* begins, its name included."""
        return self.names[at][1] if self.names else self.inner[at].start


def parse(text: str, *, source: str) -> Node:
    """Return the tree of *text*; `DocumentError` with the line where it is no JSON."""
    reader = _Reader(text, source)
    node = reader.value(reader.space(0), 0)
    rest = reader.space(node.end)
    if rest != len(text):
        raise reader.wrong(rest, "something follows the document")
    return node


class _Reader:
    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self.values = 0

    def wrong(self, at: int, what: str) -> DocumentError:
        return DocumentError(
            f"is no JSON: {what}", hint="mend it first", place=place(self.text, at, self.source)
        )

    def space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def value(self, at: int, depth: int) -> Node:
        if depth > DEEPEST:
            raise self.wrong(at, "it is nested too deeply")
        self.values += 1
        if self.values > MOST_VALUES:
            hint = "take out what is not needed, or put the hooks in by hand"
            here = place(self.text, at, self.source)
            raise DocumentError(
                f"holds more than {MOST_VALUES} values", hint=hint, place=here, values=MOST_VALUES
            )
        opening = self.text[at : at + 1]
        if opening == "{":
            return self._container(at, depth, "}")
        if opening == "[":
            return self._container(at, depth, "]")
        found = (_TEXT if opening == '"' else _WORD).match(self.text, at)
        if found is None:
            raise self.wrong(at, _OPEN if opening == '"' else "a value is missing")
        return Node(at, found.end(), self._plain(found))

    def _plain(self, found: re.Match[str]) -> Any:
        try:
            return json.loads(found.group())
        except ValueError:
            raise self.wrong(found.start(), f"`{in_quotes(found.group()[:40])}` is no value") from None

    def _container(self, start: int, depth: int, closing: str) -> Node:
        inner: list[Node] = []
        names: list[tuple[str, int]] = []
        commas: list[int] = []
        at = self.space(start + 1)
        while self.text[at : at + 1] != closing:
            if len(inner) > len(commas):
                raise self.wrong(at, f"a comma or `{closing}` is missing")
            if closing == "}":
                at = self._name(at, names)
            inner.append(self.value(at, depth + 1))
            at = self.space(inner[-1].end)
            if self.text[at : at + 1] == ",":
                commas.append(at)
                at = self.space(at + 1)
        values = [each.value for each in inner]
        value = dict(zip((name for name, _ in names), values, strict=True)) if closing == "}" else values
        return Node(start, at + 1, value, tuple(inner), tuple(names), tuple(commas))

    def _name(self, at: int, names: list[tuple[str, int]]) -> int:
        found = _TEXT.match(self.text, at)
        if found is None:
            raise self.wrong(at, "a name is missing")
        names.append((str(self._plain(found)), at))
        at = self.space(found.end())
        if self.text[at : at + 1] != ":":
            raise self.wrong(at, "a colon is missing")
        return self.space(at + 1)


class Style(NamedTuple):
    """How a text is laid out: what ends its lines, and by what each level is indented."""

    newline: str
    unit: str


def style_of(text: str) -> Style:
    """Return how *text* is laid out; two spaces where it does not show."""
    newline = "\r\n" if "\r\n" in text else "\n"
    found = re.search(r"\n([ \t]+)[\"{\[]", text)
    return Style(newline, found.group(1) if found else "  ")


def written(value: Any, style: Style, level: int) -> str:
    """Return *value* as text that stands at *level*, its first line where the text goes on."""
    text = json.dumps(value, indent=style.unit, ensure_ascii=False)
    return text.replace("\n", style.newline + style.unit * level)


class Insertion(NamedTuple):
    """Text that is put in at a place of the original."""

    at: int
    text: str


def added(text: str, node: Node, entry: str, style: Style, level: int) -> list[Insertion]:
    """Return what puts *entry* at the end of the object or list *node*, whose elements stand at *level*.

    What is said in a comment behind the last element stays on its line.
    """
    line = style.newline + style.unit * level
    if not node.inner:
        closing = (
            "" if "\n" in text[node.start + 1 : node.end - 1] else style.newline + style.unit * (level - 1)
        )
        return [Insertion(node.start + 1, f"{line}{entry}{closing}")]
    if len(node.commas) == len(node.inner):  # it ends with a comma: so does what is put in
        return [Insertion(_behind(text, node.commas[-1] + 1), f"{line}{entry},")]
    end = node.inner[-1].end
    behind = _behind(text, end)
    if behind == end:
        return [Insertion(end, f",{line}{entry}")]
    return [Insertion(end, ","), Insertion(behind, f"{line}{entry}")]


def _behind(text: str, at: int) -> int:
    found = _REMARK.match(text, at)
    return found.end() if found else at


def inserted(text: str, insertions: list[Insertion]) -> tuple[str, list[tuple[int, int]]]:
    """Return *text* with everything put in, and where it then stands: begin and length of each."""
    spans: list[tuple[int, int]] = []
    shift = 0
    for each in sorted(insertions, key=lambda one: one.at):
        at = each.at + shift
        text = text[:at] + each.text + text[at:]
        spans.append((at, len(each.text)))
        shift += len(each.text)
    return text, spans


def without(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return *text* without these parts, each a begin and a length."""
    for at, length in sorted(spans, reverse=True):
        text = text[:at] + text[at + length :]
    return text


def taken_out(text: str, node: Node, numbers: Collection[int]) -> list[tuple[int, int]]:
    """Return the parts of *text* that are the elements *numbers* of *node*, with a comma for each."""
    parts: list[tuple[int, int]] = []
    commas = dict(enumerate(node.commas))
    for at in sorted(numbers):
        begin = len(text[: node.begins(at)].rstrip(" \t\r\n"))
        parts.append((begin, node.inner[at].end - begin))
        number = at if at in commas else max(commas, default=-1)  # behind the last one may be none
        if number in commas:
            parts.append((commas.pop(number), 1))
    return parts
