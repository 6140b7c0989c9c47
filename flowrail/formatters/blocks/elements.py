"""How blocks are put together: text is escaped here, and what is `Markup` stays as it is."""

from __future__ import annotations

from collections.abc import Iterable

from flowrail.text.markup import Markup, Verbatim, attributes, parts, xml_text, xml_verbatim


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
