"""Foreign text as the content or an attribute of SVG and HTML."""

from __future__ import annotations

from flowrail.diagrams.words import line, lines


def escaped(text: str) -> str:
    """Return *text* on one line as the content of an element."""
    return _entities(line(text, 1_000))


def escaped_lines(text: str) -> str:
    """Return *text* with its line breaks as the content of an element."""
    return _entities(lines(text))


def attribute(name: str, value: str) -> str:
    """Return an attribute with a space before it."""
    return f' {name}="{_entities(line(value, 1_000))}"'


def _entities(text: str) -> str:
    return (
        text.replace("&", "&amp;")
        .replace("<", "&lt;")
        .replace(">", "&gt;")
        .replace('"', "&quot;")
        .replace("'", "&#39;")
    )
