"""Decode foreign text and make it safe to print: nothing in it hides, reorders or ends a line."""

from __future__ import annotations

import re

from flowrail.errors import DocumentError

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


class NotTextError(DocumentError):
    """The bytes are not UTF-8."""

    code = "FILE_NOT_TEXT"


def decode(data: bytes, *, source: str) -> str:
    """Return *data* as text, without a byte order mark. Raises `NotTextError` with the line."""
    try:
        return data.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise NotTextError(
            f"byte 0x{error.object[error.start]:02X} is not UTF-8",
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


def can_be_typed(text: str) -> bool:
    """Return whether *text* can be copied from a line unchanged: no hidden character, tab or line break."""
    return not (hides(text) or any(character in text for character in "\t\n\r"))


def visible(text: str) -> str:
    """Return *text* with every hidden character replaced by its code point.

    Line feeds and tabs stay. A carriage return is dropped before a line feed and replaced elsewhere.
    """
    if _is_plain(text):
        return text
    text = text.replace("\r\n", "\n").replace("\r", "⟨U+000D⟩")
    return re.sub(HIDDEN, lambda found: f"⟨U+{ord(found.group()):04X}⟩", text)


def blanked(text: str, *, keep: str = "") -> str:
    """Return *text* with a space for each unprintable character, except those in *keep*."""
    if is_shown(text):
        return text
    return "".join(char if char.isprintable() or char in keep else " " for char in re.sub(HIDDEN, " ", text))


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


def in_quotes(name: str) -> str:
    """Return *name* for use between back quotes: a back quote in it is replaced by its code point."""
    return name.replace("`", "⟨U+0060⟩")


def json_visible(document: str) -> str:
    """Return a JSON *document* with the same content and every hidden character written as an escape."""
    if document.isascii() and "\x7f" not in document:
        return document
    return re.sub(HIDDEN, lambda found: _json_escape(found.group()), document)


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
