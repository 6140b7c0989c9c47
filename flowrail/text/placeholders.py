"""Fill `$name` placeholders in texts, and find the fences of Markdown. Values inside a `flow:` fence are indented."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from flowrail.text.phrases import in_words

_NO_FENCE = r"(?m)^([ \t]*(?:`{3,}|~{3,})[ \t]*)flow:"
"""The start of a `flow:` block. A value never contains one."""
_FENCE_MARK = r"(?m)^ {0,3}(?=`{3}|~{3})"
_OPENING = r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})(.*)"
BLOCK_PREFIX = "flow:"
"""The beginning of the info string of a block."""
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
    closes a block, and never becomes a line of its own in one. Repeated values are limited as
    `RepeatableTexts`; after that, placeholders stay as they are.

    With *quoting*, for instructions, the lines of a value after the first become a quotation, so that none of
    them looks like a line of the author.
    """

    def __init__(self, values: Mapping[str, object], *, quoting: bool = False) -> None:
        self._quoting = quoting
        self._words = RepeatableTexts(
            lambda name: "$" if name == "$" else re.sub(_NO_FENCE, r"\1flow :", in_words(values.get(name)))
        )

    def fill(self, text: str) -> str:
        """Return *text* with its placeholders filled."""
        pieces: list[str] = []
        end = 0
        blocks = (
            [fence for fence in fences(text) if fence.info.startswith(BLOCK_PREFIX)]
            if BLOCK_PREFIX in text
            else []
        )
        for block in blocks:
            pieces.append(self._filled(text[end : block.start], guarded=True))
            pieces.append(self._filled_block(text[block.start : block.end]))
            end = block.end
        return "".join([*pieces, self._filled(text[end:], guarded=bool(blocks))])

    def _filled_block(self, text: str) -> str:
        def replacement(match: re.Match[str]) -> str:
            return re.sub(_FENCE_MARK, "    ", self._value(match).replace("\n", "\n  "))

        return PLACEHOLDER.sub(replacement, text)

    def _filled(self, text: str, *, guarded: bool) -> str:
        """Return *text*, which contains no block, filled; *guarded* means that it is next to blocks."""

        def replacement(match: re.Match[str]) -> str:
            value = self._value(match)
            if self._quoting and "\n" in value:
                value = _quoted(value, text[match.end() : match.end() + 1])
            return re.sub(_FENCE_MARK, "    ", value) if guarded else value

        filled = PLACEHOLDER.sub(replacement, text)
        if len(re.findall(_NO_FENCE, filled)) == len(re.findall(_NO_FENCE, text)):
            return filled
        return re.sub(_NO_FENCE, r"\1flow :", filled)  # several values form the start of a block together

    def _value(self, match: re.Match[str]) -> str:
        try:
            return self._words(match[1])
        except KeyError:
            return match[0]


def _quoted(value: str, following: str) -> str:
    """Return *value* with its later lines as a quotation, and the text *behind* it on a line of its own."""
    lines = value.replace("\r\n", "\n").strip("\n").split("\n")
    ends = "" if len(lines) == 1 or following in {"", "\n"} else "\n"
    return "\n> ".join(lines) + ends


class RepeatableTexts:
    """Texts by name. Repeated texts are limited to `MOST_AGAIN` characters together; after that, `KeyError`."""

    def __init__(self, text_of: Callable[[str], str]) -> None:
        self._text_of = text_of
        self._texts: dict[str, str] = {}
        self._left = MOST_AGAIN

    def __call__(self, name: str) -> str:
        """Return the text of that name."""
        if name not in self._texts:
            self._texts[name] = self._text_of(name)
            return self._texts[name]
        text = self._texts[name]
        if len(text) > self._left:
            raise KeyError(name)
        self._left -= len(text)
        return text


class Fence(NamedTuple):
    """A fence of Markdown: its extent in the text, its first and last line from 0, and the info string."""

    start: int
    end: int
    """The beginning of the next line; one past the text if the fence is the last line."""
    first: int
    last: int
    """The number of lines of the text if the fence is not closed."""
    info: str
    is_closed: bool

    @property
    def language(self) -> str:
        """The first word of the info string."""
        return self.info.partition(" ")[0]

    @property
    def lines(self) -> range:
        """The numbers of its lines, those of its marks included."""
        return range(self.first, self.last + 1)

    def body(self, text: str) -> str:
        """Return the lines between its marks."""
        return "\n".join(text[self.start : self.end].split("\n")[1 : self.last - self.first])


def fences(text: str) -> Iterator[Fence]:
    """Yield every fence of *text*. A fence inside another one is part of its text."""
    start = end = first = 0
    info = ""
    closing: re.Pattern[str] | None = None
    lines = text.split("\n")
    for number, line in enumerate(lines):
        begin, end = end, end + len(line) + 1
        if closing is not None:
            if closing.match(line):
                yield Fence(start, end, first, number, info, is_closed=True)
                closing = None
        elif opening := re.match(_OPENING, line):
            start, first, mark, info = begin, number, opening[1], opening[2].strip()
            closing = re.compile(f" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \\t\\r]*\\Z")
    if closing is not None:
        yield Fence(start, end, first, len(lines), info, is_closed=False)


def in_fences(text: str) -> set[int]:
    """Return the numbers of the lines of *text*, from 0, that are in a fence."""
    return {number for fence in fences(text) for number in fence.lines}
