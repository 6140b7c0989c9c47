"""Decode foreign text, make it safe to print, and write it as XML.

A text that is made safe cannot hide, reorder or end a line. This is the only module that turns text into markup.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain

from flowrail.errors import DocumentError, FlowError

TYPE_CHECKING = False  # not from `typing`, which would take a tenth of a hook
if TYPE_CHECKING:
    from typing import Self

HIDDEN = (
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # control characters except tab, line feed, carriage return
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"  # soft hyphen, joiners, fillers
    "\ufe00-\ufe0d\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"  # format controls
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"  # zero width, bidi
    "\u2800\U00016fe4\U0001d159"  # blank in Braille, Khitan and musical notation
    "\ud800-\udfff"  # surrogates, which cannot be encoded
    "\U000e0000-\U000e0fff]"  # tags and variation selectors
)
"""A character class for regular expressions: characters that hide, reorder or end lines."""
LONGEST_LINE, MOST_LINES = 4_000, 200

_BREAKS = r"[ ]*[\n\t][\s]*"


def decode(data: bytes, *, source: str) -> str:
    """Return *data* as text, without a byte order mark. Raises `NotTextError` with the line."""
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise DocumentError(
            f"byte 0x{error.object[error.start]:02X} is not UTF-8",
            code="FILE_NOT_TEXT",
            hint="save the file as UTF-8",
            place=f"{source}:{line}",
        ) from None


def hides(text: str) -> bool:
    """Return whether *text* contains a hidden character."""
    return not _is_plain(text) and re.search(HIDDEN, text) is not None


def _is_plain(text: str) -> bool:
    """Return whether *text* is printable ASCII with line feeds and tabs, which is most of what is printed."""
    return text.isascii() and text.replace("\n", "").replace("\t", "").isprintable()


def is_shown(text: str) -> bool:
    """Return whether *text* is one line without hidden characters."""
    return text.isprintable() and not hides(text)


def visible(text: str) -> str:
    """Return *text* with every hidden character replaced by its code point.

    Line feeds and tabs stay. A carriage return is dropped before a line feed and replaced elsewhere.
    """
    if _is_plain(text):
        return text
    text = text.replace("\r\n", "\n").replace("\r", "⟨U+000D⟩")
    return re.sub(HIDDEN, lambda match: f"⟨U+{ord(match.group()):04X}⟩", text)


def blanked(text: str) -> str:
    """Return *text* with a space for each unprintable character."""
    if is_shown(text):
        return text
    return "".join(char if char.isprintable() else " " for char in re.sub(HIDDEN, " ", text))


def one_line(text: str) -> str:
    """Return *text* as one visible line."""
    return re.sub(_BREAKS, " ", visible(text)).strip()


def shortened(text: str, longest: int = 240) -> str:
    """Return *text* as one visible line of at most *longest* characters."""
    line = one_line(text[: 4 * longest])
    return line if len(line) <= longest and len(text) <= 4 * longest else f"{line[: longest - 1]}…"


def bounded(text: str) -> str:
    """Return *text* with at most `MOST_LINES` lines of at most `LONGEST_LINE` characters if it is long."""
    if len(text) <= LONGEST_LINE:
        return text
    lines = text.split("\n")
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines[:MOST_LINES]]
    more = [f"  … {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return "\n".join([*shown, *more])


def error_data(error: FlowError) -> dict[str, object]:
    """Return an error as data for a JSON document."""
    return {
        "code": error.code,
        "message": bounded(error.message),
        "hint": bounded(str(error.hint)),
        "details": error.details,
        **error.beside,
    }


def in_quotes(name: str) -> str:
    """Return *name* for use between back quotes: a back quote in it is replaced by its code point."""
    return name.replace("`", "⟨U+0060⟩")


def quotable(text: object) -> str:
    """Return *text* as a short text for use between back quotes."""
    return in_quotes(shortened(str(text), 80))


def json_visible(document: str) -> str:
    """Return a JSON *document* with the same content and every hidden character written as an escape."""
    if document.isascii() and "\x7f" not in document:
        return document
    return re.sub(HIDDEN, lambda match: _json_escape(match.group()), document)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


class Markup(str):
    """XML content that is already escaped.

    Only the type says so. A slice of it is plain text again and is escaped like any other text, so a mistake is
    visible and harmless. Elements that were joined with other texts are found again by `parts`.
    """

    __slots__ = ()

    def __new__(cls, text: str = "") -> Self:
        """Return *text* as markup, and remember an element so that `parts` finds it."""
        markup = super().__new__(cls, text)
        _remember(markup)
        return markup

    def __str__(self) -> Self:
        return self


_OPENING = re.compile(r"<[a-z][^<>]*>")
_MOST_REMEMBERED = 4_000_000
"""How many characters of elements are remembered, and as many again of older ones."""
_recent: dict[str, dict[str, Markup]] = {}
_older: dict[str, dict[str, Markup]] = {}
_remembered = 0


def _remember(markup: Markup) -> None:
    global _recent, _older, _remembered  # noqa: PLW0603 - one memory for the process, as for the interned texts
    opening = _OPENING.match(markup)
    if opening is None or len(markup) > _MOST_REMEMBERED:
        return
    _remembered += len(markup)
    if _remembered > _MOST_REMEMBERED:
        _recent, _older, _remembered = {}, _recent, len(markup)
    _recent.setdefault(opening[0], {})[markup] = markup


def parts(text: str) -> list[str | Markup]:
    """Return *text* as the elements in it and the texts between them; joined, they are *text* again.

    `"\\n".join(blocks)` and f-strings give plain texts. An element in such a text is known by its exact content,
    which this process must have made. A value that merely looks like an element is text.
    """
    if isinstance(text, Markup) or "<" not in text:
        return [text]
    pieces: list[str | Markup] = []
    end = 0
    for opening in _OPENING.finditer(text):
        start = opening.start()
        if start < end:
            continue
        candidates = chain(_recent.get(opening[0], ()), _older.get(opening[0], ()))
        element = max(
            (candidate for candidate in candidates if text.startswith(candidate, start)),
            key=len,
            default=None,
        )
        if element is not None:
            pieces += [text[end:start], Markup(element)]
            end = start + len(element)
    return [part for part in (*pieces, text[end:]) if part]


def xml_text(text: str) -> str:
    """Return *text* with entities, for a title, a page or an attribute."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


class Verbatim(str):
    """Text in which no elements are looked for, such as a command."""

    __slots__ = ()


def xml_verbatim(text: str) -> str:
    """Return *text* as the content of an element that its reader can copy: as CDATA if it has special characters."""
    shown = visible(text)
    if not any(sign in shown for sign in "&<>"):
        return shown
    inner = shown.strip("\n")
    before, _, after = shown.partition(inner)
    return f"{before}<![CDATA[{inner.replace(']]>', ']]]]><![CDATA[>')}]]>{after}"


def attributes(**values: object) -> str:
    """Return attributes, each with a space before it, without those that are `None`.

    A value with double quotes, such as a list as JSON, is put in single quotes, so that it can be copied as it is.
    """
    return "".join(
        f" {name.rstrip('_')}={_quoted(value)}" for name, value in values.items() if value is not None
    )


def _quoted(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    shown = xml_text(text).replace("\n", "&#10;").replace("\t", "&#9;")
    if '"' in shown and "'" not in shown:
        return f"'{shown}'"
    return '"' + shown.replace('"', "&quot;") + '"'


def content(text: str) -> str:
    """Return *text* as it is written inside an element."""
    if isinstance(text, Verbatim):
        return xml_verbatim(text)
    return "".join(part if isinstance(part, Markup) else xml_verbatim(part) for part in parts(text))


def element(tag: str, text: str, /, **values: object) -> Markup:
    """Return an element on one line; attributes that are `None` are left out."""
    return Markup(f"<{tag}{attributes(**values)}>{content(text)}</{tag}>")


def block(tag: str, lines: Iterable[str], /, **values: object) -> Markup:
    """Return an element with each of *lines* on a line of its own."""
    return Markup("\n".join([f"<{tag}{attributes(**values)}>", *map(content, lines), f"</{tag}>"]))


def listing(tag: str, item: str, texts: Iterable[str], /, **values: object) -> Markup:
    """Return an element with one *item* for each of *texts*."""
    return block(tag, [element(item, text) for text in texts], **values)


def printed_element(tag: str, text: str, /, **values: object) -> str:
    """Return an element around foreign text for an output. It is not `Markup`: a text that quotes it stays a text."""
    return printed_markup(tag, xml_verbatim(text), **values)


def printed_block(tag: str, lines: Iterable[str], /, **values: object) -> str:
    """Return an element of an output around *lines* of markup."""
    return printed_markup(tag, "\n".join(["", *lines, ""]), **values)


def printed_markup(tag: str, inside: str, /, **values: object) -> str:
    """Return an element of an output around markup."""
    return f"<{tag}{attributes(**values)}>{inside}</{tag}>"
