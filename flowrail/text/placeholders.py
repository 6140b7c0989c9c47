"""Fill `$name` placeholders in texts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from flowrail.text.phrases import in_words

_NO_FENCE = re.compile(r"^([ \t]*(?:`{3,}|~{3,})[ \t]*)flow:", re.MULTILINE)
"""What would open one of our blocks: nothing that stands in a value does."""
_MARKS, _BLANKS = "`~", " \t\r"
_FEWEST_MARKS = 3
_FLOW_FIRST = re.compile(r"\A([ \t]*)flow:")
_FENCE_MARK = re.compile(r"^ {0,3}(?=`{3}|~{3})", re.MULTILINE)
_OPENING = re.compile(r" {0,3}(`{3,}(?=[^`]*\Z)|~{3,})[ \t]*(.*)")
MOST_AGAIN = 1_000_000
"""So many characters of values and resources are told a second time of one step."""
PLACEHOLDER = re.compile(r"\$(\$|[a-z][a-z0-9_]*)")


def placeholders(text: str) -> set[str]:
    """Return the names that *text* has a ``$name`` for."""
    return {name for name in PLACEHOLDER.findall(text) if name != "$"}


def fill(text: str, values: Mapping[str, Any]) -> str:
    """Return *text* with each ``$name`` replaced by its value, once, and ``$$`` by a dollar; see `Filling`."""
    return Filling(values).fill(text)


class Filling:
    """Puts values into texts that are told together.

    A name that has no value yet leaves nothing; what a value contains is not looked at again. No value
    opens one of our blocks, closes one, or becomes a line of its own in it. Each is told whole, and told
    again as far as that comes to `MOST_AGAIN` characters; from there on its placeholder stays.

    With *quoting*, for what an agent is told to do: of a value with several lines those after the first are
    a quotation, so that none of them stands there like a line of the author's.
    """

    def __init__(self, values: Mapping[str, Any], *, quoting: bool = False) -> None:
        self._values = values
        self._quoting = quoting
        self._words: dict[str, str] = {}
        self._left = MOST_AGAIN

    def fill(self, text: str) -> str:
        """Return *text* with its values."""
        ours = _blocks(text)[::-1] if "flow:" in text else []
        guarded = bool(ours)
        line, at = _Line(), 0

        def put(found: re.Match[str]) -> str:
            nonlocal at
            line.go_on(text[at : found.start()])
            at = found.end()
            value = line.apart(told(found), text[at : at + 1])
            line.go_on(value, given=True)
            return value

        def told(found: re.Match[str]) -> str:
            name = found.group(1)
            if name == "$":
                return "$"
            value = self._told(name)
            if value is None:
                return found.group()
            while ours and ours[-1][1] <= found.start():
                ours.pop()
            if ours and ours[-1][0] <= found.start():
                value = value.replace("\n", "\n        ")
            elif self._quoting and "\n" in value:
                value = _quoted(value, text[found.end() : found.end() + 1])
            return _FENCE_MARK.sub("    ", value) if guarded else value

        return PLACEHOLDER.sub(put, text)

    def _told(self, name: str) -> str | None:
        """Return the value of *name* in words, `None` where too much was told again already."""
        if name not in self._words:
            self._words[name] = _NO_FENCE.sub(r"\1flow :", in_words(self._values.get(name)))
            return self._words[name]
        value = self._words[name]
        if len(value) > self._left:
            return None
        self._left -= len(value)
        return value


def _quoted(value: str, behind: str) -> str:
    """Return *value* with its lines after the first as a quotation, and what comes *behind* on a line of its own."""
    lines = value.replace("\r\n", "\n").strip("\n").split("\n")
    ends = "" if len(lines) == 1 or behind in {"", "\n"} else "\n"
    return "\n> ".join(lines) + ends


class _Line:
    """What stands on a line so far: whether it could still become the mark of a fence, by a value or around one."""

    def __init__(self) -> None:
        self._bare = True
        self._marks = 0
        self._given = False

    def go_on(self, text: str, *, given: bool = False) -> None:
        """Take note of what stands next, or is *given* there as a value."""
        _, new, last = text.rpartition("\n")
        self._bare = (self._bare or bool(new)) and not last.strip(f"{_BLANKS}{_MARKS}")
        self._marks = (0 if new else self._marks) + len(last.strip())
        self._given = (self._given and not new) or (given and bool(last.strip()))

    def apart(self, value: str, behind: str) -> str:
        """Return *value* so that it makes no fence with what stands before it, nor with what comes *behind*."""
        if self._bare and self._marks and value.startswith((*_MARKS,)):
            value = f" {value}"
        elif self._bare and self._marks >= _FEWEST_MARKS:
            value = _FLOW_FIRST.sub(r"\1flow :", value)
        _, new, last = value.rpartition("\n")
        given = last.strip() or (self._given and not new)
        could = given and not last.strip(f"{_BLANKS}{_MARKS}") and (self._bare or new)
        return f"{value} " if could and behind in {*_MARKS} else value


class Again:
    """Gives texts by their names, each once and again as far as `MOST_AGAIN` allows; then `KeyError`."""

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
    """Return where our blocks stand in *text*: from the line that opens one to the line that closes it."""
    found: list[tuple[int, int]] = []
    at, end = 0, 0
    closing: re.Pattern[str] | None = None
    ours = False
    for line in text.split("\n"):
        end = at + len(line) + 1
        opening = _OPENING.match(line) if closing is None else None
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
