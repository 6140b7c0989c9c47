"""Fill `$name` placeholders in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flowrail.text.phrases import in_words

_NO_FENCE = r"(?m)^([ \t]*(?:`{3,}|~{3,})[ \t]*)flow:"
"""The start of one of our blocks. A value never contains one."""
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
        pieces: list[str] = []
        at = 0
        blocks = _blocks(text) if "flow:" in text else []
        for start, end in blocks:
            pieces += [self._filled(text[at:start], guarded=True), self._filled_block(text[start:end])]
            at = end
        return "".join([*pieces, self._filled(text[at:], guarded=bool(blocks))])

    def _filled_block(self, text: str) -> str:
        def put(found: re.Match[str]) -> str:
            return re.sub(_FENCE_MARK, "    ", self._value(found).replace("\n", "\n  "))

        return PLACEHOLDER.sub(put, text)

    def _filled(self, text: str, *, guarded: bool) -> str:
        """Return *text*, which has none of our blocks, filled; *guarded* means that there are blocks beside it."""

        def put(found: re.Match[str]) -> str:
            value = self._value(found)
            if self._quoting and "\n" in value:
                value = _quoted(value, text[found.end() : found.end() + 1])
            return re.sub(_FENCE_MARK, "    ", value) if guarded else value

        filled = PLACEHOLDER.sub(put, text)
        if len(re.findall(_NO_FENCE, filled)) == len(re.findall(_NO_FENCE, text)):
            return filled
        return re.sub(_NO_FENCE, r"\1flow :", filled)  # several values form the start of a block together

    def _value(self, found: re.Match[str]) -> str:
        name = found.group(1)
        value = "$" if name == "$" else self._in_words(name)
        return found.group() if value is None else value

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
