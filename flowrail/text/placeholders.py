"""Fill `$name` placeholders in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flowrail.text.phrases import in_words

_NO_FENCE = r"(?m)^([ \t]*(?:`{3,}|~{3,})[ \t]*)flow:"
"""The start of one of our blocks. A value never contains one."""
_MARKS, _BLANKS = "`~", " \t\r"
_FEWEST_MARKS = 3
_FLOW_FIRST = r"\A([ \t]*)flow:"
_FENCE_MARK = r"(?m)^ {0,3}(?=`{3}|~{3})"
_OPENING = r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})[ \t]*(.*)"
MOST_AGAIN = 1_000_000
"""Characters of values and resources that one step repeats."""
PLACEHOLDER = re.compile(r"\$(\$|[a-z][a-z0-9_]*)")


def placeholders(text: str) -> set[str]:
    """Return the names of the placeholders in *text*."""
    return {name for name in PLACEHOLDER.findall(text) if name != "$"}


def fill(text: str, values: Mapping[str, object]) -> str:
    """Return *text* with each `$name` replaced by its value and `$$` by a dollar; see `Filling`."""
    return Filling(values).fill(text)


class Filling:
    """Fills the texts of one step.

    A name without a value becomes empty. Placeholders inside a value are not filled. A value never opens or
    closes one of our blocks, and never becomes a line of its own in one. Repeated values are limited to
    `MOST_AGAIN` characters together; after that, placeholders stay as they are.

    With *quoting*, for instructions, the lines of a value after the first become a quotation, so that none of
    them looks like a line of the author.
    """

    def __init__(self, values: Mapping[str, object], *, quoting: bool = False) -> None:
        self._values = values
        self._quoting = quoting
        self._words: dict[str, str] = {}
        self._left = MOST_AGAIN

    def fill(self, text: str) -> str:
        """Return *text* with its placeholders filled."""
        blocks = _blocks(text)[::-1] if "flow:" in text else []
        guarded = bool(blocks)
        line, at = _CurrentLine(), 0

        def put(found: re.Match[str]) -> str:
            nonlocal at
            line.add(text[at : found.start()])
            at = found.end()
            value = line.separated(value_of(found), text[at : at + 1])
            line.add(value, given=True)
            return value

        def value_of(found: re.Match[str]) -> str:
            name = found.group(1)
            if name == "$":
                return "$"
            value = self._in_words(name)
            if value is None:
                return found.group()
            while blocks and blocks[-1][1] <= found.start():
                blocks.pop()
            if blocks and blocks[-1][0] <= found.start():
                value = value.replace("\n", "\n        ")
            elif self._quoting and "\n" in value:
                value = _quoted(value, text[found.end() : found.end() + 1])
            return re.sub(_FENCE_MARK, "    ", value) if guarded else value

        return PLACEHOLDER.sub(put, text)

    def _in_words(self, name: str) -> str | None:
        """Return the value of *name* in words, or `None` if too much was repeated already."""
        if name not in self._words:
            self._words[name] = re.sub(_NO_FENCE, r"\1flow :", in_words(self._values.get(name)))
            return self._words[name]
        value = self._words[name]
        if len(value) > self._left:
            return None
        self._left -= len(value)
        return value


def _quoted(value: str, behind: str) -> str:
    """Return *value* with its later lines as a quotation, and the text *behind* it on a line of its own."""
    lines = value.replace("\r\n", "\n").strip("\n").split("\n")
    ends = "" if len(lines) == 1 or behind in {"", "\n"} else "\n"
    return "\n> ".join(lines) + ends


class _CurrentLine:
    """The current line so far, to know whether a value could complete the mark of a fence."""

    def __init__(self) -> None:
        self._bare = True
        self._marks = 0
        self._given = False

    def add(self, text: str, *, given: bool = False) -> None:
        """Add text; *given* means that it is a value."""
        _, new, last = text.rpartition("\n")
        self._bare = (self._bare or bool(new)) and not last.strip(f"{_BLANKS}{_MARKS}")
        self._marks = (0 if new else self._marks) + len(last.strip())
        self._given = (self._given and not new) or (given and bool(last.strip()))

    def separated(self, value: str, behind: str) -> str:
        """Return *value* so that it forms no fence with the text before it or *behind* it."""
        if self._bare and self._marks and value.startswith((*_MARKS,)):
            value = f" {value}"
        elif self._bare and self._marks >= _FEWEST_MARKS:
            value = re.sub(_FLOW_FIRST, r"\1flow :", value)
        _, new, last = value.rpartition("\n")
        given = last.strip() or (self._given and not new)
        could = given and not last.strip(f"{_BLANKS}{_MARKS}") and (self._bare or new)
        return f"{value} " if could and behind in {*_MARKS} else value


class RepeatableTexts:
    """Texts by name. Repeated texts are limited to `MOST_AGAIN` characters together; after that, `KeyError`."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        self._given: set[str] = set()
        self._left = MOST_AGAIN

    def __call__(self, name: str) -> str:
        """Return the text of that name."""
        text = self._texts[name]
        if name in self._given:
            if len(text) > self._left:
                raise KeyError(name)
            self._left -= len(text)
        self._given.add(name)
        return text


def _blocks(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each of our blocks in *text*, with its opening and closing lines."""
    found: list[tuple[int, int]] = []
    at, end = 0, 0
    closing: re.Pattern[str] | None = None
    ours = False
    for line in text.split("\n"):
        end = at + len(line) + 1
        opening = re.match(_OPENING, line) if closing is None else None
        if opening:
            mark = opening.group(1)
            closing = re.compile(f" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \\t\\r]*\\Z")
            ours = opening.group(2).startswith("flow:")
            found += [(at, len(text) + 1)] if ours else []
        elif closing is not None and closing.match(line):
            if ours:
                found[-1] = (found[-1][0], end)
            closing = None
        at = end
    return found
