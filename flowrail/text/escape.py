"""The only place where text becomes markup.

`visible` makes characters that hide, reorder or end lines show themselves; `json_visible` does so for
a JSON document without changing what it says; `xml_text` and `xml_attribute` give text that any XML
parser takes.
"""

from __future__ import annotations

import re

from flowrail.text.safe_text import HIDDEN, code_points

_HIDDEN = re.compile(HIDDEN)
_BLANKS = re.compile(r"\s+")


LONGEST_LINE, MOST_LINES = 4_000, 200


def visible(text: str) -> str:
    """Return *text* with every hidden character written as its code point.

    Line feeds and tabs stay; a carriage return goes before a line feed and shows elsewhere.
    """
    if text.isascii() and text.isprintable():
        return text
    text = text.replace("\r\n", "\n").replace("\r", "⟨U+000D⟩")
    return code_points(text)


def json_visible(document: str) -> str:
    """Return a JSON *document* that says the same, every hidden character in it written as an escape."""
    if document.isascii() and "\x7f" not in document:
        return document
    return _HIDDEN.sub(lambda found: _json_escape(found.group()), document)


def bounded(text: str) -> str:
    """Return *text* with no line too long to be read, and no more lines than that."""
    if len(text) <= LONGEST_LINE:
        return text
    lines = text.split("\n")
    shown = [line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…" for line in lines[:MOST_LINES]]
    more = [f"  … {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else []
    return "\n".join([*shown, *more])


def one_line(text: str) -> str:
    """Return *text* as one visible line."""
    return " ".join(visible(text).split())


def command_line(text: str) -> str:
    """Return *text*, in which a path or command of ours stands, as one visible line with its blanks as they are."""
    return _BLANKS.sub(_joined, visible(text)).strip()


def _joined(blanks: re.Match[str]) -> str:
    return " " if "\n" in blanks[0] or "\t" in blanks[0] else blanks[0]


def xml_text(text: str) -> str:
    """Return *text* as the content of an element."""
    return visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def xml_attribute(text: str) -> str:
    """Return *text* as the value of an attribute in double quotes."""
    escaped = xml_text(text).replace('"', "&quot;")
    return escaped.replace("\n", "&#10;").replace("\t", "&#9;")


def attributes(**values: object) -> str:
    """Return attributes, each with a space before it; those that are `None` are left out."""
    return "".join(
        f' {name.rstrip("_")}="{xml_attribute(_as_text(value))}"'
        for name, value in values.items()
        if value is not None
    )


def _json_escape(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
