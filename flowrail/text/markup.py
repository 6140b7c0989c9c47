"""Text as XML: escaped text, attributes and elements. This is the only module that turns text into markup."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import Self

from flowrail.text.safe_text import visible


class Markup(str):
    """XML content that is already escaped.

    Only the type says so. A slice of it is plain text again and is escaped like any other text, so a mistake is
    visible and harmless. Elements that were joined with other texts are found again by `parts`.
    """

    __slots__ = ()

    def __new__(cls, text: str = "") -> Self:
        """Return *text* as markup, and remember an element so that `parts` finds it."""
        made = super().__new__(cls, text)
        _remember(made)
        return made

    def __str__(self) -> Self:
        return self


_OPENING = re.compile(r"<[a-z][^<>]*>")
_MOST_REMEMBERED = 4_000_000
"""How many characters of elements are remembered, and as many again of older ones."""
_recent: dict[str, dict[str, Markup]] = {}
_older: dict[str, dict[str, Markup]] = {}
_remembered = 0


def _remember(made: Markup) -> None:
    global _recent, _older, _remembered  # noqa: PLW0603 - one memory for the process, as for the interned texts
    opening = _OPENING.match(made)
    if opening is None or len(made) > _MOST_REMEMBERED:
        return
    _remembered += len(made)
    if _remembered > _MOST_REMEMBERED:
        _recent, _older, _remembered = {}, _recent, len(made)
    _recent.setdefault(opening[0], {})[made] = made


def parts(text: str) -> list[str | Markup]:
    """Return *text* as the elements in it and the texts between them; joined, they are *text* again.

    `"\\n".join(blocks)` and f-strings give plain texts. An element in such a text is known by its exact content,
    which this process must have made. A value that merely looks like an element is text.
    """
    if isinstance(text, Markup) or "<" not in text:
        return [text]
    found: list[str | Markup] = []
    end = 0
    for opening in _OPENING.finditer(text):
        start = opening.start()
        if start < end:
            continue
        known = chain(_recent.get(opening[0], ()), _older.get(opening[0], ()))
        element = max((each for each in known if text.startswith(each, start)), key=len, default=None)
        if element is not None:
            found += [text[end:start], Markup(element)]
            end = start + len(element)
    return [part for part in (*found, text[end:]) if part]


def xml_text(text: str) -> str:
    """Return *text* as the content of an element."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Verbatim(str):
    """Text that its reader copies as it is, such as a command: in XML it has no entities."""

    __slots__ = ()


def xml_verbatim(text: str) -> str:
    """Return *text* as the content of an element without entities: as CDATA if it has special characters."""
    shown = visible(text)
    if not any(sign in shown for sign in "&<>"):
        return shown
    return f"<![CDATA[{shown.replace(']]>', ']]]]><![CDATA[>')}]]>"


def xml_attribute(text: str) -> str:
    """Return *text* as the value of an attribute in double quotes."""
    return _attribute_text(text).replace('"', "&quot;")


def attributes(**values: object) -> str:
    """Return attributes, each with a space before it, without those that are `None`.

    A value with double quotes, such as a list as JSON, is put in single quotes, so that it can be copied as it is.
    """
    return "".join(
        f" {name.rstrip('_')}={_quoted(_as_text(value))}"
        for name, value in values.items()
        if value is not None
    )


def _quoted(text: str) -> str:
    in_single_quotes = '"' in text and "'" not in text
    return f"'{_attribute_text(text)}'" if in_single_quotes else f'"{xml_attribute(text)}"'


def _attribute_text(text: str) -> str:
    return xml_text(text).replace("\n", "&#10;").replace("\t", "&#9;")


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def content(text: str) -> str:
    """Return *text* as it is written inside an element."""
    if isinstance(text, Verbatim):
        return xml_verbatim(text)
    return "".join(part if isinstance(part, Markup) else xml_text(part) for part in parts(text))


def element(tag: str, text: str, /, **values: object) -> Markup:
    """Return an element on one line; attributes that are `None` are left out."""
    return Markup(f"<{tag}{attributes(**values)}>{content(text)}</{tag}>")


def block(tag: str, lines: Iterable[str], /, **values: object) -> Markup:
    """Return an element with each of *lines* on a line of its own."""
    return Markup("\n".join([f"<{tag}{attributes(**values)}>", *map(content, lines), f"</{tag}>"]))


def listing(tag: str, item: str, texts: Iterable[str], /, **values: object) -> Markup:
    """Return an element with one *item* for each of *texts*."""
    return block(tag, [element(item, text) for text in texts], **values)
